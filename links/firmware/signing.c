#include "signing.h"

#include "sha256.h"

#include <string.h>

const char *pc_digits_of(uint64_t number, char digits[PC_DIGITS_BYTES])
{
    char *at = digits + PC_DIGITS_BYTES - 1;
    *at = '\0';
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return at;
}

static void hmac_text(pc_hmac *hmac, const char *string)
{
    pc_hmac_add(hmac, string, strlen(string));
}

static void hmac_line(pc_hmac *hmac, const char *string)
{
    hmac_text(hmac, string);
    hmac_text(hmac, "\n");
}

static void hmac_number(pc_hmac *hmac, uint64_t number)
{
    char digits[PC_DIGITS_BYTES];
    hmac_line(hmac, pc_digits_of(number, digits));
}

static void hmac_hex(pc_hmac *hmac, char signature[PC_SIGNATURE_BYTES])
{
    static const char hex[] = "0123456789abcdef";
    uint8_t digest[PC_DIGEST_BYTES];
    pc_hmac_end(hmac, digest);
    for (int i = 0; i < PC_DIGEST_BYTES; i++) {
        signature[2 * i] = hex[digest[i] >> 4];
        signature[2 * i + 1] = hex[digest[i] & 15];
    }
    signature[2 * PC_DIGEST_BYTES] = '\0';
}

void pc_sign_request(const uint8_t key[PC_KEY_BYTES], const char *method, const char *path,
                     uint64_t time_ms, const char *body, size_t length,
                     char signature[PC_SIGNATURE_BYTES])
{
    pc_hmac hmac;
    pc_hmac_begin(&hmac, key, PC_KEY_BYTES);
    hmac_line(&hmac, "progressive-request/1");
    hmac_line(&hmac, method);
    hmac_line(&hmac, path);
    hmac_number(&hmac, time_ms);
    pc_hmac_add(&hmac, body, length);
    hmac_hex(&hmac, signature);
}

void pc_sign_answer(const uint8_t key[PC_KEY_BYTES], const char *request_signature, unsigned status,
                    const char *body, size_t length, char signature[PC_SIGNATURE_BYTES])
{
    pc_hmac hmac;
    pc_hmac_begin(&hmac, key, PC_KEY_BYTES);
    hmac_line(&hmac, "progressive-answer/1");
    hmac_line(&hmac, request_signature);
    hmac_number(&hmac, status);
    pc_hmac_add(&hmac, body, length);
    hmac_hex(&hmac, signature);
}

bool pc_is_same(const char *ours, const char *theirs)
{
    unsigned difference = 0;
    if (theirs == NULL || strlen(theirs) != PC_SIGNATURE_BYTES - 1) return false;
    for (int i = 0; i < PC_SIGNATURE_BYTES - 1; i++) difference |= (unsigned)(ours[i] ^ theirs[i]);
    return difference == 0;
}
