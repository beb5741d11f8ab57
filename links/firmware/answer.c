#include "answer.h"

#include <string.h>

#define DEPTH_MAX 16

typedef struct {
    const char *at;
    const char *end;
} cursor;

static void skip_space(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        c->at++;
}

static bool next_is(cursor *c, char wanted)
{
    skip_space(c);
    if (c->at == c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

/* Reads a string. No word of ours is long, has escapes, or is more than printable ASCII: what is
 * becomes "?", for a code is shown to people even if nobody has signed it. */
static bool read_word(cursor *c, char word[PC_WORD_BYTES])
{
    size_t length = 0;
    bool plain = true;
    if (!next_is(c, '"')) return false;
    while (c->at < c->end && *c->at != '"') {
        if ((unsigned char)*c->at < 0x20) return false;
        if (*c->at == ' ' || (unsigned char)*c->at > 0x7e) plain = false;
        if (*c->at == '\\') {
            plain = false;
            if (++c->at == c->end) return false;
        }
        if (length < PC_WORD_BYTES - 1)
            word[length++] = *c->at;
        else
            plain = false;
        c->at++;
    }
    if (!plain) {
        length = 0;
        word[length++] = '?';
    }
    word[length] = '\0';
    return next_is(c, '"');
}

static bool read_whole(cursor *c, uint64_t *number)
{
    uint64_t value = 0;
    skip_space(c);
    const char *first = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
        value = value * 10 + (uint64_t)(*c->at++ - '0');
        if (value > PC_WHOLE_MAX) return false;
    }
    if (c->at == first || (*first == '0' && c->at - first > 1)) return false;
    *number = value;
    return c->at == c->end || (*c->at != '.' && *c->at != 'e' && *c->at != 'E');
}

/* Passes over a number, true, false or null. */
static bool skip_plain(cursor *c)
{
    static const char allowed[] = "+-.0123456789abcdefghijklmnopqrstuvwxyzE";
    const char *first = c->at;
    while (c->at < c->end && *c->at != '\0' && strchr(allowed, *c->at)) c->at++;
    return c->at > first;
}

/* Passes over any value; brackets are counted, not matched in kind, for nothing in them is used. */
static bool skip_value(cursor *c)
{
    char ignored[PC_WORD_BYTES];
    int depth = 0;
    do {
        skip_space(c);
        if (c->at == c->end) return false;
        char next = *c->at;
        if (next == '{' || next == '[') {
            c->at++;
            if (++depth > DEPTH_MAX) return false;
        } else if (next == '}' || next == ']') {
            c->at++;
            if (--depth < 0) return false;
        } else if ((next == ',' || next == ':') && depth > 0) {
            c->at++;
        } else if (next == '"') {
            if (!read_word(c, ignored)) return false;
        } else if (!skip_plain(c)) {
            return false;
        }
    } while (depth > 0);
    return true;
}

static bool lamp_of(const char *word, pc_lamp *lamp)
{
    static const char *const names[] = {"off", "accepted", "locked", "late", "winner", "link-down"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(word, names[i]) != 0) continue;
        *lamp = (pc_lamp)i;
        return true;
    }
    return false;
}

static bool read_lamps(cursor *c, pc_answer *answer)
{
    char word[PC_WORD_BYTES];
    answer->lamp_count = 0;
    if (!next_is(c, '[')) return false;
    if (next_is(c, ']')) return true;
    do {
        if (answer->lamp_count == PC_SEATS_MAX) return false;
        if (!read_word(c, word) || !lamp_of(word, &answer->lamps[answer->lamp_count])) return false;
        answer->lamp_count++;
    } while (next_is(c, ','));
    return next_is(c, ']');
}

typedef bool (*field_reader)(cursor *c, const char *name, pc_answer *answer);

static bool read_object(cursor *c, field_reader read_field, pc_answer *answer)
{
    char name[PC_WORD_BYTES];
    if (!next_is(c, '{')) return false;
    if (next_is(c, '}')) return true;
    do {
        if (!read_word(c, name) || !next_is(c, ':') || !read_field(c, name, answer)) return false;
    } while (next_is(c, ','));
    return next_is(c, '}');
}

static bool read_fact(cursor *c, const char *name, pc_answer *answer)
{
    if (strcmp(name, "server_time_ms") == 0) return read_whole(c, &answer->server_time_ms);
    if (strcmp(name, "epoch") == 0) return read_whole(c, &answer->epoch);
    return skip_value(c);
}

static bool read_field(cursor *c, const char *name, pc_answer *answer)
{
    if (strcmp(name, "result") == 0) return read_word(c, answer->result);
    if (strcmp(name, "phase") == 0) return read_word(c, answer->phase);
    if (strcmp(name, "code") == 0) return read_word(c, answer->code);
    if (strcmp(name, "round") == 0) return read_whole(c, &answer->round);
    if (strcmp(name, "expected") == 0) return read_whole(c, &answer->expected);
    if (strcmp(name, "lamps") == 0) return read_lamps(c, answer);
    if (strcmp(name, "facts") == 0) return read_object(c, read_fact, answer);
    return skip_value(c);
}

bool pc_read_answer(const char *body, size_t length, pc_answer *answer)
{
    cursor c = {body, body + length};
    memset(answer, 0, sizeof *answer);
    if (!read_object(&c, read_field, answer)) return false;
    skip_space(&c);
    return c.at == c.end;
}
