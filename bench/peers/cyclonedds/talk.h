// Protocol between an end and the bench, and errors.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Prints an error and exits with 1.
void fail(const char *format, ...);

// Allocates zeroed memory.
void *memory(size_t size);

void send_ready(void);

// Reads a line from the bench; false at end of file.
bool read_line(void);
void wait_for_start(void);

// Waits until the bench closes standard input: readers may still request lost messages.
void wait_for_end(void);
