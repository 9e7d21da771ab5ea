/* What most files use: the C library, memory, strings, buffers, numbers, maps, errors and messages. */
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "base/log.h"
#include "base/map.h"
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
