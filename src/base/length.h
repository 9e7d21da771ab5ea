/* How many elements an array has. */
#ifndef GT_BASE_LENGTH_H
#define GT_BASE_LENGTH_H

#define GT_LENGTH(array) (sizeof(array) / sizeof *(array))

#endif
