#include "sha256.h"

#include <string.h>

#define LENGTH_AT 56 /* where the last block holds the length in bits */

static const uint32_t K[64] = {
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u,
    0xab1c5ed5u, 0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu,
    0x9bdc06a7u, 0xc19bf174u, 0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu,
    0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau, 0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u,
    0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u, 0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu,
    0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u, 0xa2bfe8a1u, 0xa81a664bu,
    0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u, 0x19a4c116u,
    0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u,
    0xc67178f2u};

static uint32_t turned(uint32_t word, unsigned by) { return word >> by | word << (32u - by); }

static uint32_t word_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void compress(pc_sha256 *hash)
{
    uint32_t w[64], v[8];
    for (int t = 0; t < 16; t++) w[t] = word_at(hash->block + 4 * t);
    for (int t = 16; t < 64; t++) {
        uint32_t early = turned(w[t - 15], 7) ^ turned(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t late = turned(w[t - 2], 17) ^ turned(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16] + early + w[t - 7] + late;
    }
    memcpy(v, hash->words, sizeof v);
    for (int t = 0; t < 64; t++) {
        uint32_t e = v[4], a = v[0];
        uint32_t chosen = (e & v[5]) ^ (~e & v[6]);
        uint32_t most = (a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]);
        uint32_t one = v[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + chosen + K[t] + w[t];
        uint32_t two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + most;
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++) hash->words[i] += v[i];
}

void pc_sha256_begin(pc_sha256 *hash)
{
    static const uint32_t first[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                                      0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
    memcpy(hash->words, first, sizeof first);
    hash->length = 0;
}

void pc_sha256_add(pc_sha256 *hash, const void *bytes, size_t length)
{
    const uint8_t *from = bytes;
    while (length > 0) {
        size_t at = (size_t)(hash->length % PC_BLOCK_BYTES);
        size_t part = PC_BLOCK_BYTES - at < length ? PC_BLOCK_BYTES - at : length;
        memcpy(hash->block + at, from, part);
        hash->length += part;
        from += part;
        length -= part;
        if (at + part == PC_BLOCK_BYTES) compress(hash);
    }
}

void pc_sha256_end(pc_sha256 *hash, uint8_t digest[PC_DIGEST_BYTES])
{
    uint64_t bits = hash->length * 8;
    uint8_t tail[8];
    for (int i = 0; i < 8; i++) tail[i] = (uint8_t)(bits >> (56 - 8 * i));
    pc_sha256_add(hash, "\x80", 1);
    while (hash->length % PC_BLOCK_BYTES != LENGTH_AT) pc_sha256_add(hash, "", 1);
    pc_sha256_add(hash, tail, sizeof tail);
    for (int i = 0; i < PC_DIGEST_BYTES; i++)
        digest[i] = (uint8_t)(hash->words[i / 4] >> (24 - 8 * (i % 4)));
}

void pc_hmac_begin(pc_hmac *hmac, const uint8_t *key, size_t length)
{
    uint8_t inner_key[PC_BLOCK_BYTES] = {0};
    if (length > PC_BLOCK_BYTES) {
        pc_sha256_begin(&hmac->inner);
        pc_sha256_add(&hmac->inner, key, length);
        pc_sha256_end(&hmac->inner, inner_key);
    } else {
        memcpy(inner_key, key, length);
    }
    for (int i = 0; i < PC_BLOCK_BYTES; i++) {
        hmac->outer_key[i] = inner_key[i] ^ 0x5c;
        inner_key[i] ^= 0x36;
    }
    pc_sha256_begin(&hmac->inner);
    pc_sha256_add(&hmac->inner, inner_key, sizeof inner_key);
}

void pc_hmac_add(pc_hmac *hmac, const void *bytes, size_t length)
{
    pc_sha256_add(&hmac->inner, bytes, length);
}

void pc_hmac_end(pc_hmac *hmac, uint8_t digest[PC_DIGEST_BYTES])
{
    pc_sha256_end(&hmac->inner, digest);
    pc_sha256_begin(&hmac->inner);
    pc_sha256_add(&hmac->inner, hmac->outer_key, sizeof hmac->outer_key);
    pc_sha256_add(&hmac->inner, digest, PC_DIGEST_BYTES);
    pc_sha256_end(&hmac->inner, digest);
}
