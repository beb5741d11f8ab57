#include "progressive_client.h"

#include "sha256.h"

#include <string.h>

#define PATH "/v1/messages"
#define CHECKED_BYTES 36

/* ---- text into a bounded buffer ---- */

typedef struct {
    char *bytes;
    size_t length;
    size_t capacity;
    bool is_full; /* something did not fit: the text is of no use */
} text;

static void add_bytes(text *t, const char *bytes, size_t length)
{
    if (t->is_full || length >= t->capacity - t->length) {
        t->is_full = true;
        return;
    }
    memcpy(t->bytes + t->length, bytes, length);
    t->length += length;
    t->bytes[t->length] = '\0';
}

static void add(text *t, const char *string) { add_bytes(t, string, strlen(string)); }

static void add_number(text *t, uint64_t number)
{
    char digits[PC_DIGITS_BYTES];
    add(t, pc_digits_of(number, digits));
}

static size_t write_body(const pc_client *hub, char body[PC_BODY_BYTES])
{
    text t = {body, 0, PC_BODY_BYTES, false};
    const pc_message *m = &hub->message;
    bool is_first = true;
    add(&t, "{\"table\":\""), add(&t, hub->table);
    add(&t, "\",\"epoch\":"), add_number(&t, m->epoch);
    add(&t, ",\"sequence\":"), add_number(&t, m->sequence);
    add(&t, ",\"round\":"), add_number(&t, m->round);
    add(&t, ",\"seats\":[");
    for (unsigned seat = 1; seat <= PC_SEATS_MAX; seat++) {
        if (!(m->seats >> (seat - 1) & 1u)) continue;
        if (!is_first) add(&t, ",");
        add_number(&t, seat);
        is_first = false;
    }
    add(&t, m->kind == PC_STATE ? "],\"kind\":\"state\"}" : "],\"kind\":\"heartbeat\"}");
    return t.is_full ? 0 : t.length;
}

/* ---- the record that outlives the power ---- */

static void put_whole(uint8_t *at, uint64_t number)
{
    for (int i = 0; i < 8; i++) at[i] = (uint8_t)(number >> (56 - 8 * i));
}

static uint64_t whole_at(const uint8_t *at)
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++) number = number << 8 | at[i];
    return number;
}

/* The check covers device and table, so that a record of another place is not believed. */
static void check_of(const pc_client *hub, const uint8_t *record, uint8_t digest[PC_DIGEST_BYTES])
{
    pc_sha256 hash;
    pc_sha256_begin(&hash);
    pc_sha256_add(&hash, hub->device, strlen(hub->device) + 1);
    pc_sha256_add(&hash, hub->table, strlen(hub->table) + 1);
    pc_sha256_add(&hash, record, CHECKED_BYTES);
    pc_sha256_end(&hash, digest);
}

static void write_record(const pc_client *hub, uint8_t record[PC_RECORD_BYTES])
{
    uint8_t digest[PC_DIGEST_BYTES];
    memcpy(record, "PRG1", 4);
    put_whole(record + 4, hub->message.epoch);
    put_whole(record + 12, hub->message.sequence);
    put_whole(record + 20, hub->message.round);
    put_whole(record + 28, (uint64_t)hub->message.kind << 32 | hub->message.seats);
    check_of(hub, record, digest);
    memcpy(record + CHECKED_BYTES, digest, PC_RECORD_BYTES - CHECKED_BYTES);
}

static bool read_record(pc_client *hub, const uint8_t *record)
{
    uint8_t digest[PC_DIGEST_BYTES];
    check_of(hub, record, digest);
    if (memcmp(record, "PRG1", 4) != 0) return false;
    if (memcmp(record + CHECKED_BYTES, digest, PC_RECORD_BYTES - CHECKED_BYTES) != 0) return false;
    hub->message.epoch = whole_at(record + 4);
    hub->message.sequence = whole_at(record + 12);
    hub->message.round = whole_at(record + 20);
    hub->message.kind = record[31] == PC_STATE ? PC_STATE : PC_HEARTBEAT;
    hub->message.seats = (unsigned)(whole_at(record + 28) & 0xffffffffu);
    return hub->message.seats >> hub->places == 0; /* the table may have fewer seats since */
}

/* ---- what to send ---- */

/* A new epoch begins with a heartbeat that names no round: it asks where the table stands. */
static void begin_epoch(pc_client *hub, uint64_t last)
{
    if (last < hub->message.epoch) last = hub->message.epoch;
    memset(&hub->message, 0, sizeof hub->message);
    hub->message.epoch = last < PC_WHOLE_MAX ? last + 1 : PC_WHOLE_MAX;
    hub->message.sequence = 1;
    hub->message.kind = PC_HEARTBEAT;
    hub->settled = false;
    hub->stored = false;
    hub->reported = false;
}

/* A name goes into JSON and a header as it is, so it holds nothing that would need an escape. */
static bool is_name(const char *name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t length = strlen(name);
    return length > 0 && length < PC_NAME_BYTES && strspn(name, allowed) == length;
}

bool pc_start(pc_client *hub, const char *device, const char *table, unsigned places,
              const uint8_t key[PC_KEY_BYTES], const uint8_t *record)
{
    if (!is_name(device) || !is_name(table) || places < 1 || places > PC_SEATS_MAX) return false;
    memset(hub, 0, sizeof *hub);
    memcpy(hub->device, device, strlen(device));
    memcpy(hub->table, table, strlen(table));
    memcpy(hub->key, key, PC_KEY_BYTES);
    hub->places = places;
    if (record != NULL && read_record(hub, record))
        hub->stored = true; /* whether it was answered is not known: it goes again */
    else
        begin_epoch(hub, 0);
    return true;
}

void pc_set_clock(pc_client *hub, uint64_t tick, uint64_t unix_ms)
{
    hub->clock = unix_ms - tick;
    hub->last_time_ms = 0;
}

void pc_set_seats(pc_client *hub, unsigned seats)
{
    hub->seats = seats & ((1u << hub->places) - 1u);
    hub->sensed = true;
}

static bool is_news(const pc_client *hub)
{
    if (!hub->sensed) return false;
    return !hub->reported || hub->reported_round != hub->round || hub->reported_seats != hub->seats;
}

/* While bets are open the lamps show what is counted: a table that was closed has forgotten it. */
static bool is_counted(const pc_client *hub)
{
    unsigned counted = 0;
    for (unsigned i = 0; i < hub->places; i++)
        if (hub->lamps[i] == PC_LAMP_ACCEPTED) counted |= 1u << i;
    return !hub->sensed || !hub->open || counted == hub->seats;
}

uint64_t pc_wait_ms(const pc_client *hub, uint64_t tick)
{
    uint64_t due = hub->next_tick;
    if (hub->settled && hub->standing_known && !is_news(hub))
        due = hub->answered_tick + PC_HEARTBEAT_MS;
    return due > tick ? due - tick : 0;
}

static void next_message(pc_client *hub)
{
    if (hub->message.sequence >= PC_WHOLE_MAX) {
        begin_epoch(hub, 0);
        return;
    }
    bool tells = hub->standing_known && (is_news(hub) || !is_counted(hub));
    hub->message.sequence++;
    hub->message.round = hub->round;
    hub->message.kind = tells ? PC_STATE : PC_HEARTBEAT;
    hub->message.seats = tells ? hub->seats : 0;
    hub->settled = false;
    hub->stored = false;
}

bool pc_prepare(pc_client *hub, uint8_t record[PC_RECORD_BYTES])
{
    if (hub->settled) next_message(hub);
    if (!hub->stored) write_record(hub, record);
    return !hub->stored;
}

void pc_stored(pc_client *hub) { hub->stored = true; }

/* No two requests of a hub have the same time, so that no answer fits another request. */
static uint64_t request_time(pc_client *hub, uint64_t tick)
{
    uint64_t time_ms = tick + hub->clock;
    if (time_ms <= hub->last_time_ms) time_ms = hub->last_time_ms + 1;
    hub->last_time_ms = time_ms;
    return time_ms;
}

size_t pc_request(pc_client *hub, uint64_t tick, const char *host, char *out, size_t capacity)
{
    char body[PC_BODY_BYTES];
    size_t length = write_body(hub, body);
    text t = {out, 0, capacity, capacity == 0};
    if (!hub->stored || hub->settled || length == 0) return 0;
    uint64_t time_ms = request_time(hub, tick);
    pc_sign_request(hub->key, "POST", PATH, time_ms, body, length, hub->signature);
    add(&t, "POST " PATH " HTTP/1.1\r\nHost: "), add(&t, host);
    add(&t, "\r\nContent-Type: application/json\r\nContent-Length: "), add_number(&t, length);
    add(&t, "\r\nProgressive-Device: "), add(&t, hub->device);
    add(&t, "\r\nProgressive-Time: "), add_number(&t, time_ms);
    add(&t, "\r\nProgressive-Signature: "), add(&t, hub->signature);
    add(&t, "\r\nConnection: close\r\n\r\n"), add_bytes(&t, body, length);
    hub->asked = !t.is_full;
    return t.is_full ? 0 : t.length;
}

/* ---- what an answer means ---- */

/* Waits longer each time; the signature's own digits spread a floor of hubs that start together. */
static void try_later(pc_client *hub, uint64_t tick)
{
    uint64_t wait = PC_RETRY_MS;
    for (unsigned i = 0; i < hub->failures && wait < PC_RETRY_MS_MAX; i++) wait *= 2;
    if (wait > PC_RETRY_MS_MAX) wait = PC_RETRY_MS_MAX;
    hub->failures++;
    hub->next_tick = tick + wait - wait * (uint64_t)(hub->signature[0] % 16) / 64;
}

static bool take_standing(pc_client *hub, const pc_answer *answer)
{
    if (answer->phase[0] == '\0' || answer->lamp_count < hub->places) return false;
    hub->round = answer->round;
    hub->open = strcmp(answer->phase, "open") == 0;
    memcpy(hub->lamps, answer->lamps, sizeof hub->lamps);
    return true;
}

static void settle(pc_client *hub, uint64_t tick, bool is_present)
{
    if (hub->message.kind == PC_STATE) {
        hub->reported = true;
        hub->reported_round = hub->message.round;
        hub->reported_seats = hub->message.seats;
    }
    hub->settled = true;
    hub->standing_known = is_present;
    hub->failures = 0;
    hub->next_tick = tick + PC_PACE_MS;
}

static pc_verdict take_result(pc_client *hub, uint64_t tick, const pc_answer *answer)
{
    bool is_gap = strcmp(answer->result, "gap") == 0;
    if (strcmp(answer->result, "duplicate") == 0) {
        /* Taken; but this is the answer of then, so where the table stands now is to be asked. */
        settle(hub, tick, false);
        return PC_SETTLED;
    }
    if (answer->result[0] == '\0' || (is_gap && answer->expected == 0)) return PC_UNREADABLE;
    if (!take_standing(hub, answer)) return PC_UNREADABLE;
    hub->link_up = true;
    hub->answered_tick = tick;
    hub->code[0] = '\0';
    if (is_gap) {
        hub->message.sequence = answer->expected;
        hub->stored = false;
    } else if (strcmp(answer->result, "stale") == 0) {
        begin_epoch(hub, 0); /* our store is older than what we once sent */
    } else {
        settle(hub, tick, true);
        return PC_SETTLED;
    }
    try_later(hub, tick);
    return PC_REPEAT;
}

static pc_verdict take_problem(pc_client *hub, uint64_t tick, const pc_answer *answer)
{
    memcpy(hub->code, answer->code, sizeof hub->code);
    if (strcmp(answer->code, "clock_skew") == 0) {
        if (answer->server_time_ms == 0) return PC_UNREADABLE;
        pc_set_clock(hub, tick, answer->server_time_ms);
    } else if (strcmp(answer->code, "epoch_lower") == 0 ||
               strcmp(answer->code, "sequence_reused") == 0) {
        begin_epoch(hub, answer->epoch);
    } else {
        hub->link_up = hub->link_up && strcmp(answer->code, "too_many_requests") == 0;
        try_later(hub, tick);
        return PC_CLOSED;
    }
    try_later(hub, tick);
    return PC_REPEAT;
}

pc_verdict pc_take(pc_client *hub, uint64_t tick, unsigned status, const char *signature,
                   const char *body, size_t length)
{
    char expected[PC_SIGNATURE_BYTES];
    pc_answer answer;
    pc_verdict verdict = PC_UNREADABLE;
    bool is_read = pc_read_answer(body, length, &answer);
    pc_sign_answer(hub->key, hub->signature, status, body, length, expected);
    if (!hub->asked || !pc_is_same(expected, signature)) {
        if (is_read) memcpy(hub->code, answer.code, sizeof hub->code); /* a hint, nothing more */
        pc_no_answer(hub, tick);
        return PC_UNPROVEN;
    }
    if (is_read && status == 200)
        verdict = take_result(hub, tick, &answer);
    else if (is_read && status >= 400)
        verdict = take_problem(hub, tick, &answer);
    if (verdict == PC_UNREADABLE) pc_no_answer(hub, tick);
    hub->asked = false;
    return verdict;
}

void pc_no_answer(pc_client *hub, uint64_t tick)
{
    hub->asked = false;
    try_later(hub, tick);
}

pc_lamp pc_lamp_at(const pc_client *hub, uint64_t tick, unsigned seat)
{
    if (seat < 1 || seat > hub->places) return PC_LAMP_OFF;
    if (!hub->link_up || tick - hub->answered_tick > PC_LINK_DOWN_MS) return PC_LAMP_LINK_DOWN;
    return hub->lamps[seat - 1];
}
