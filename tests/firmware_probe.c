/* Lets a test drive the client of links/firmware by lines: a command with its words, an answer. */
#include "progressive_client.h"
#include "sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 70000
#define WORDS_MAX 8

typedef struct {
    uint8_t *bytes; /* exactly as long as it says, so that a sanitizer sees every step too far */
    size_t length;
} blob;

static blob unhex(const char *hex)
{
    blob b = {NULL, strcmp(hex, "-") == 0 ? 0 : strlen(hex) / 2};
    b.bytes = malloc(b.length + (b.length == 0));
    for (size_t i = 0; i < b.length; i++) {
        unsigned byte = 0;
        sscanf(hex + 2 * i, "%2x", &byte);
        b.bytes[i] = (uint8_t)byte;
    }
    return b;
}

static void print_hex(const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) printf("%02x", ((const uint8_t *)bytes)[i]);
    puts(length == 0 ? "-" : "");
}

static void digest(const char *command, char **word)
{
    blob one = unhex(word[1]), two = unhex(word[2]);
    uint8_t out[PC_DIGEST_BYTES];
    if (strcmp(command, "sha") == 0) {
        pc_sha256 hash;
        pc_sha256_begin(&hash);
        pc_sha256_add(&hash, one.bytes, one.length);
        pc_sha256_add(&hash, two.bytes, two.length);
        pc_sha256_end(&hash, out);
    } else {
        pc_hmac hmac;
        pc_hmac_begin(&hmac, one.bytes, one.length);
        pc_hmac_add(&hmac, two.bytes, two.length);
        pc_hmac_end(&hmac, out);
    }
    print_hex(out, sizeof out);
    free(one.bytes), free(two.bytes);
}

/* sign KEY METHOD PATH TIME BODY, or KEY SIGNATURE STATUS BODY of an answer. */
static void sign(char **word)
{
    blob key = unhex(word[1]), body = unhex(word[5] != NULL ? word[5] : word[4]);
    const char *text = (const char *)body.bytes;
    char out[PC_SIGNATURE_BYTES];
    if (word[5] != NULL)
        pc_sign_request(key.bytes, word[2], word[3], strtoull(word[4], NULL, 10), text, body.length,
                        out);
    else
        pc_sign_answer(key.bytes, word[2], (unsigned)atoi(word[3]), text, body.length, out);
    puts(out);
    free(key.bytes), free(body.bytes);
}

static void look(const pc_client *hub, uint64_t tick)
{
    const pc_message *m = &hub->message;
    printf("%llu %llu %llu %u %s %s %s", (unsigned long long)m->epoch,
           (unsigned long long)m->sequence, (unsigned long long)m->round, m->seats,
           m->kind == PC_STATE ? "state" : "heartbeat", hub->settled ? "settled" : "waits",
           hub->code[0] != '\0' ? hub->code : "-");
    for (unsigned seat = 1; seat <= hub->places; seat++)
        printf(" %d", (int)pc_lamp_at(hub, tick, seat));
    puts("");
}

static void request(pc_client *hub, char **word)
{
    size_t capacity = (size_t)strtoul(word[3], NULL, 10);
    char *out = malloc(capacity + 1);
    size_t length = pc_request(hub, strtoull(word[1], NULL, 10), word[2], out, capacity);
    print_hex(out, length);
    free(out);
}

static void answer(pc_client *hub, char **word)
{
    static const char *const names[] = {"settled", "repeat", "closed", "unproven", "unreadable"};
    blob body = unhex(word[4]);
    const char *signature = strcmp(word[3], "-") == 0 ? NULL : word[3];
    puts(names[pc_take(hub, strtoull(word[1], NULL, 10), (unsigned)atoi(word[2]), signature,
                       (const char *)body.bytes, body.length)]);
    free(body.bytes);
}

static void start(pc_client *hub, char **word)
{
    blob key = unhex(word[4]), record = unhex(word[5]);
    bool is_fine = pc_start(hub, word[1], word[2], (unsigned)atoi(word[3]), key.bytes,
                            record.length == PC_RECORD_BYTES ? record.bytes : NULL);
    puts(is_fine ? "fine" : "refused");
    free(key.bytes), free(record.bytes);
}

static void obey(pc_client *hub, char **word)
{
    const char *command = word[0];
    uint64_t first = word[1] != NULL ? strtoull(word[1], NULL, 10) : 0;
    uint8_t record[PC_RECORD_BYTES];
    if (strcmp(command, "sha") == 0 || strcmp(command, "hmac") == 0) {
        digest(command, word);
    } else if (strcmp(command, "sign") == 0) {
        sign(word);
    } else if (strcmp(command, "start") == 0) {
        start(hub, word);
    } else if (strcmp(command, "request") == 0) {
        request(hub, word);
    } else if (strcmp(command, "answer") == 0) {
        answer(hub, word);
    } else if (strcmp(command, "look") == 0) {
        look(hub, first);
    } else if (strcmp(command, "wait") == 0) {
        printf("%llu\n", (unsigned long long)pc_wait_ms(hub, first));
    } else if (strcmp(command, "prepare") == 0) {
        print_hex(record, pc_prepare(hub, record) ? sizeof record : 0);
    } else {
        if (strcmp(command, "stored") == 0) pc_stored(hub);
        if (strcmp(command, "none") == 0) pc_no_answer(hub, first);
        if (strcmp(command, "seats") == 0) pc_set_seats(hub, (unsigned)first);
        if (strcmp(command, "clock") == 0) pc_set_clock(hub, first, strtoull(word[2], NULL, 10));
        puts("done");
    }
}

int main(void)
{
    static char line[LINE_BYTES];
    static pc_client hub;
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *word[WORDS_MAX + 1] = {NULL};
        size_t count = 0;
        char *at = strtok(line, " \n");
        for (; at != NULL && count < WORDS_MAX; at = strtok(NULL, " \n")) word[count++] = at;
        if (count > 0) obey(&hub, word);
        fflush(stdout);
    }
    return 0;
}
