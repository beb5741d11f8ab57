/* Signatures of requests and answers, as lower-case hex with its end. */
#ifndef PC_SIGNING_H
#define PC_SIGNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PC_KEY_BYTES 32
#define PC_SIGNATURE_BYTES 65
#define PC_DIGITS_BYTES 21 /* of a 64-bit number, with its end */

void pc_sign_request(const uint8_t key[PC_KEY_BYTES], const char *method, const char *path,
                     uint64_t time_ms, const char *body, size_t length,
                     char signature[PC_SIGNATURE_BYTES]);
void pc_sign_answer(const uint8_t key[PC_KEY_BYTES], const char *request_signature, unsigned status,
                    const char *body, size_t length, char signature[PC_SIGNATURE_BYTES]);

/* Takes the same time wherever the two differ, so that it does not tell where. */
bool pc_is_same(const char *ours, const char *theirs);

/* Gives a number in decimal; the digits are at the end of the buffer. */
const char *pc_digits_of(uint64_t number, char digits[PC_DIGITS_BYTES]);

#endif
