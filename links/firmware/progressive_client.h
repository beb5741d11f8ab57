/*
 * A sensor hub's side of the protocol: what to send, what an answer means, what the lamps show.
 *
 * It does no input or output, allocates nothing, and has no clock: the caller brings a tick (ms
 * since boot, never going back), a buffer for the request, the bytes of the answer, and 44 bytes of
 * store that outlive the power. The loop around it:
 *
 *   pc_set_seats(&hub, mask);                       whenever the sensors change
 *   if (pc_wait_ms(&hub, tick) == 0) {
 *       if (pc_prepare(&hub, record)) { write the record; pc_stored(&hub); }
 *       n = pc_request(&hub, tick, host, buffer, sizeof buffer);
 *       send n bytes; then pc_take(&hub, tick, status, signature, body, length),
 *       or pc_no_answer(&hub, tick);
 *   }
 *   show pc_lamp_at(&hub, tick, seat) at every seat
 */
#ifndef PROGRESSIVE_CLIENT_H
#define PROGRESSIVE_CLIENT_H

#include "answer.h"
#include "signing.h"

#define PC_NAME_BYTES 65 /* a device's or table's name with its end */
#define PC_RECORD_BYTES 44
#define PC_BODY_BYTES 256     /* the longest message with its end */
#define PC_REQUEST_BYTES 1024 /* enough for any request whose host has up to 255 characters */

/* How long things take; a build may set its own. */
#ifndef PC_HEARTBEAT_MS
#define PC_HEARTBEAT_MS 1000
#endif
#ifndef PC_PACE_MS
#define PC_PACE_MS 50 /* from one message that was answered to the next */
#endif
#ifndef PC_RETRY_MS
#define PC_RETRY_MS 100 /* before the first repeat; doubled for each further one */
#endif
#ifndef PC_RETRY_MS_MAX
#define PC_RETRY_MS_MAX 2000
#endif
#ifndef PC_LINK_DOWN_MS
#define PC_LINK_DOWN_MS 3000 /* without an answer, until the lamps say so */
#endif

typedef enum { PC_STATE = 1, PC_HEARTBEAT = 2 } pc_kind;

typedef struct {
    uint64_t epoch;
    uint64_t sequence;
    uint64_t round;
    unsigned seats; /* bit 0 is seat 1 */
    pc_kind kind;
} pc_message;

typedef enum {
    PC_SETTLED,   /* the message was taken; the next one may follow */
    PC_REPEAT,    /* the controller said what to do first; the message goes again */
    PC_CLOSED,    /* the controller cannot take it now, or never will as we are set up */
    PC_UNPROVEN,  /* not signed for this request: as good as no answer */
    PC_UNREADABLE /* signed, but not what this client understands: as good as no answer */
} pc_verdict;

typedef struct {
    char device[PC_NAME_BYTES];
    char table[PC_NAME_BYTES];
    uint8_t key[PC_KEY_BYTES];
    unsigned places; /* seats of the table */
    unsigned seats;  /* what the sensors see now */
    bool sensed;     /* until they were read, nothing is said about them */

    pc_message message; /* the last one made; the next is made when it is settled */
    bool settled;
    bool stored;

    bool standing_known; /* round, phase and lamps are the present ones */
    bool open;
    uint64_t round;
    pc_lamp lamps[PC_SEATS_MAX];
    bool reported; /* the controller took a state of this epoch: */
    uint64_t reported_round;
    unsigned reported_seats;

    uint64_t clock; /* what to add to the tick to have Unix time in ms */
    uint64_t last_time_ms;
    uint64_t next_tick;
    uint64_t answered_tick;
    unsigned failures;
    bool link_up;

    bool asked; /* a request is out, and this is its signature: */
    char signature[PC_SIGNATURE_BYTES];
    char code[PC_WORD_BYTES]; /* the last problem, for a technician; empty when all is well */
} pc_client;

/* Begins after power-up. `record` is what was stored, or NULL. False for a name or count that
 * cannot be. A record that is missing, torn or another device's begins a new epoch. */
bool pc_start(pc_client *hub, const char *device, const char *table, unsigned places,
              const uint8_t key[PC_KEY_BYTES], const uint8_t *record);

/* Tells the time where the hub has a clock; without one, the controller's refusal sets it. */
void pc_set_clock(pc_client *hub, uint64_t tick, uint64_t unix_ms);

/* What the sensors see, bit 0 being seat 1; before the first call only heartbeats are sent. */
void pc_set_seats(pc_client *hub, unsigned seats);

/* How long nothing is to be sent. */
uint64_t pc_wait_ms(const pc_client *hub, uint64_t tick);

/* Makes the next message if the last is settled. True: store the record, then call pc_stored. */
bool pc_prepare(pc_client *hub, uint8_t record[PC_RECORD_BYTES]);
void pc_stored(pc_client *hub);

/* Writes the whole HTTP request and gives its length; 0 if it is not stored, or does not fit. */
size_t pc_request(pc_client *hub, uint64_t tick, const char *host, char *out, size_t capacity);

/* Takes an answer; `signature` is its Progressive-Signature header, or NULL. */
pc_verdict pc_take(pc_client *hub, uint64_t tick, unsigned status, const char *signature,
                   const char *body, size_t length);
void pc_no_answer(pc_client *hub, uint64_t tick);

pc_lamp pc_lamp_at(const pc_client *hub, uint64_t tick, unsigned seat);

#endif
