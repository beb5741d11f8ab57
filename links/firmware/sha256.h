/* SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104): fixed memory, any length of input. */
#ifndef PC_SHA256_H
#define PC_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define PC_DIGEST_BYTES 32
#define PC_BLOCK_BYTES 64

typedef struct {
    uint32_t words[8];
    uint8_t block[PC_BLOCK_BYTES];
    uint64_t length; /* bytes taken so far */
} pc_sha256;

void pc_sha256_begin(pc_sha256 *hash);
void pc_sha256_add(pc_sha256 *hash, const void *bytes, size_t length);
void pc_sha256_end(pc_sha256 *hash, uint8_t digest[PC_DIGEST_BYTES]);

typedef struct {
    pc_sha256 inner;
    uint8_t outer_key[PC_BLOCK_BYTES];
} pc_hmac;

void pc_hmac_begin(pc_hmac *hmac, const uint8_t *key, size_t length);
void pc_hmac_add(pc_hmac *hmac, const void *bytes, size_t length);
void pc_hmac_end(pc_hmac *hmac, uint8_t digest[PC_DIGEST_BYTES]);

#endif
