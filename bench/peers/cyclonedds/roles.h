// Roles of an end.
#pragma once

#include "options.h"

void ping(const Options *options);
void pong(const Options *options);
void source(const Options *options);
void sink(const Options *options);
void talker(const Options *options);
void listener(const Options *options);
void para_in(const Options *options);
void para_add(const Options *options);
void add(const Options *options);
