// What an end and the bench say to each other, errors included.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Says what is wrong, and ends the program.
void fail(const char *format, ...);

// Memory that is all zeros.
void *memory(size_t size);

void say_ready(void);

// Reads from the bench until there is a line, or nothing any more: then false.
bool read_line(void);
void wait_for_go(void);

// Waits until the bench closes standard input: a reader may still ask for what it has lost.
void wait_for_end(void);
