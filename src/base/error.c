/* Error messages, formatted where the failure is found. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool gt_fail(gt_error *error, const char *format, ...)
{
    if (!error) return false;
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return false;
}

void gt_error_prefix(gt_error *error, const char *prefix)
{
    if (!error) return;
    char text[sizeof error->text];
    memcpy(text, error->text, sizeof text);
    snprintf(error->text, sizeof error->text, "%s: %.900s", prefix, text);
}
