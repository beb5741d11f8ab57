/* Reads the few things that a hub needs out of an answer's JSON, without memory of its own. */
#ifndef PC_ANSWER_H
#define PC_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PC_SEATS_MAX 9
#define PC_WORD_BYTES 32 /* the longest code, result, phase or lamp, with its end */
#define PC_WHOLE_MAX ((UINT64_C(1) << 53) - 1)

typedef enum {
    PC_LAMP_OFF,
    PC_LAMP_ACCEPTED,
    PC_LAMP_LOCKED,
    PC_LAMP_LATE,
    PC_LAMP_WINNER,
    PC_LAMP_LINK_DOWN
} pc_lamp;

typedef struct {
    char result[PC_WORD_BYTES]; /* empty where the answer has none, as all words here */
    char phase[PC_WORD_BYTES];
    char code[PC_WORD_BYTES];
    uint64_t round;
    uint64_t expected;
    uint64_t server_time_ms; /* facts of a problem */
    uint64_t epoch;
    unsigned lamp_count;
    pc_lamp lamps[PC_SEATS_MAX];
} pc_answer;

/* False for anything that is not one JSON object, or holds what a hub needs as another type. */
bool pc_read_answer(const char *body, size_t length, pc_answer *answer);

#endif
