/*
 * A sensor hub on any POSIX host, as an example of what surrounds the client in a firmware:
 *
 *   hub HOST PORT DEVICE TABLE SEATS KEY_FILE STORE_FILE [CLOCK]
 *
 * Its sensors are lines on standard input, the seats that have a wager ("1 3", or an empty line);
 * its lamps are lines on standard output. KEY_FILE holds the key as 64 hex digits; STORE_FILE
 * stands for the flash. CLOCK is how far this hub's clock is off in ms, or "none".
 */
#define _POSIX_C_SOURCE 200809L
#include "progressive_client.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_BYTES 8192
#define LINE_BYTES 256
#define PATH_BYTES 1024
#ifndef ANSWER_MS
#define ANSWER_MS 2000 /* how long to wait for an answer */
#endif

static uint64_t clock_ms(clockid_t which)
{
    struct timespec now;
    clock_gettime(which, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t tick(void) { return clock_ms(CLOCK_MONOTONIC); }

/* ---- key and store ---- */

static bool read_key(const char *path, uint8_t key[PC_KEY_BYTES])
{
    FILE *file = fopen(path, "r");
    bool is_read = file != NULL;
    for (int i = 0; is_read && i < PC_KEY_BYTES; i++) {
        unsigned byte;
        is_read = fscanf(file, "%2x", &byte) == 1;
        if (is_read) key[i] = (uint8_t)byte;
    }
    if (file != NULL) fclose(file);
    return is_read;
}

static bool read_store(const char *path, uint8_t record[PC_RECORD_BYTES])
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) return false;
    size_t length = fread(record, 1, PC_RECORD_BYTES, file);
    fclose(file);
    return length == PC_RECORD_BYTES;
}

static bool write_all(int to, const void *bytes, size_t length)
{
    const char *at = bytes;
    while (length > 0) {
        ssize_t written = write(to, at, length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        at += written;
        length -= (size_t)written;
    }
    return true;
}

/* The new record takes the old one's place at once, or not at all. */
static bool write_store(const char *path, const uint8_t record[PC_RECORD_BYTES])
{
    char beside[PATH_BYTES];
    int length = snprintf(beside, sizeof beside, "%s.new", path);
    if (length < 0 || (size_t)length >= sizeof beside) return false;
    int file = open(beside, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0) return false;
    bool is_written = write_all(file, record, PC_RECORD_BYTES) && fsync(file) == 0;
    return close(file) == 0 && is_written && rename(beside, path) == 0;
}

/* ---- one request, one answer ---- */

static bool is_ready(int socket_, short events, uint64_t until)
{
    uint64_t now = tick();
    struct pollfd watched = {socket_, events, 0};
    return now < until && poll(&watched, 1, (int)(until - now)) == 1;
}

static int dial(const char *host, const char *port, uint64_t until)
{
    struct addrinfo hints = {0}, *found = NULL;
    int error = 0, socket_ = -1;
    socklen_t size = sizeof error;
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(host, port, &hints, &found) != 0) return -1;
    socket_ = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
    if (socket_ >= 0) {
        fcntl(socket_, F_SETFL, O_NONBLOCK);
        bool is_there = connect(socket_, found->ai_addr, found->ai_addrlen) == 0;
        if (!is_there && errno == EINPROGRESS && is_ready(socket_, POLLOUT, until))
            is_there = getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
        if (!is_there) {
            close(socket_);
            socket_ = -1;
        }
    }
    freeaddrinfo(found);
    return socket_;
}

/* Sends the request and reads until the controller closes. Gives the answer's length, or 0. */
static size_t exchange(int socket_, const char *request, size_t length, uint64_t until,
                       char answer[ANSWER_BYTES])
{
    size_t taken = 0;
    while (length > 0) {
        if (!is_ready(socket_, POLLOUT, until)) return 0;
        ssize_t sent = send(socket_, request, length, MSG_NOSIGNAL);
        if (sent <= 0) return 0;
        request += sent;
        length -= (size_t)sent;
    }
    while (taken < ANSWER_BYTES - 1) {
        if (!is_ready(socket_, POLLIN, until)) return 0;
        ssize_t got = recv(socket_, answer + taken, ANSWER_BYTES - 1 - taken, 0);
        if (got < 0) return 0;
        if (got == 0) break;
        taken += (size_t)got;
    }
    answer[taken] = '\0';
    return taken;
}

/* Takes an HTTP answer apart in place and hands it on. */
static pc_verdict take(pc_client *hub, char *answer, size_t length)
{
    static const char name[] = "Progressive-Signature:";
    char *signature = NULL, *line_end;
    char *body = strstr(answer, "\r\n\r\n");
    if (body == NULL || strncmp(answer, "HTTP/1.1 ", 9) != 0) {
        pc_no_answer(hub, tick());
        return PC_UNPROVEN;
    }
    unsigned status = (unsigned)strtoul(answer + 9, NULL, 10);
    body[2] = '\0'; /* the head ends here: each of its lines has its line end */
    for (char *line = answer; (line_end = strstr(line, "\r\n")) != NULL; line = line_end + 2) {
        *line_end = '\0';
        if (strncasecmp(line, name, sizeof name - 1) != 0) continue;
        signature = line + sizeof name - 1;
        while (*signature == ' ') signature++;
    }
    body += 4;
    return pc_take(hub, tick(), status, signature, body, length - (size_t)(body - answer));
}

static void post(pc_client *hub, const char *host, const char *port, const char *store)
{
    static char request[PC_REQUEST_BYTES], answer[ANSWER_BYTES];
    uint8_t record[PC_RECORD_BYTES];
    uint64_t until = tick() + ANSWER_MS;
    if (pc_prepare(hub, record)) {
        if (!write_store(store, record)) {
            perror(store);
            pc_no_answer(hub, tick()); /* what is not kept is not sent */
            return;
        }
        pc_stored(hub);
    }
    int socket_ = dial(host, port, until);
    size_t length = pc_request(hub, tick(), host, request, sizeof request);
    size_t taken = 0;
    if (socket_ >= 0) {
        taken = exchange(socket_, request, length, until, answer);
        close(socket_);
    }
    if (taken > 0)
        take(hub, answer, taken);
    else
        pc_no_answer(hub, tick());
}

/* ---- sensors and lamps ---- */

static void show(const pc_client *hub)
{
    static const char *const names[] = {"off", "accepted", "locked", "late", "winner", "link-down"};
    static char last[LINE_BYTES];
    char line[LINE_BYTES];
    size_t length = (size_t)snprintf(line, sizeof line, "%llu %s epoch=%llu code=%s",
                                     (unsigned long long)hub->round, hub->open ? "open" : "closed",
                                     (unsigned long long)hub->message.epoch,
                                     hub->code[0] != '\0' ? hub->code : "-");
    for (unsigned seat = 1; seat <= hub->places && length < sizeof line; seat++)
        length += (size_t)snprintf(line + length, sizeof line - length, " %s",
                                   names[pc_lamp_at(hub, tick(), seat)]);
    if (strcmp(line, last) == 0) return;
    memcpy(last, line, sizeof last);
    puts(line);
    fflush(stdout);
}

/* Reads what the sensors say; false when they are gone. */
static bool sense(pc_client *hub)
{
    static char line[LINE_BYTES];
    static size_t length;
    ssize_t got = read(STDIN_FILENO, line + length, sizeof line - 1 - length);
    if (got <= 0) return false;
    length += (size_t)got;
    line[length] = '\0';
    for (char *end; (end = strchr(line, '\n')) != NULL;) {
        unsigned seats = 0;
        for (char *at = line; at < end; at++)
            if (*at >= '1' && *at <= '9') seats |= 1u << (*at - '1');
        pc_set_seats(hub, seats);
        length -= (size_t)(end + 1 - line);
        memmove(line, end + 1, length + 1);
    }
    return length < sizeof line - 1;
}

int main(int count, char **words)
{
    static pc_client hub;
    uint8_t key[PC_KEY_BYTES], record[PC_RECORD_BYTES];
    if (count < 8 || !read_key(words[6], key)) {
        fputs("usage: hub HOST PORT DEVICE TABLE SEATS KEY_FILE STORE_FILE [CLOCK]\n", stderr);
        return 2;
    }
    bool kept = read_store(words[7], record);
    if (!pc_start(&hub, words[3], words[4], (unsigned)atoi(words[5]), key, kept ? record : NULL)) {
        fputs("hub: a name or the number of seats cannot be\n", stderr);
        return 2;
    }
    if (count < 9 || strcmp(words[8], "none") != 0) {
        long long off_ms = count < 9 ? 0 : atoll(words[8]);
        pc_set_clock(&hub, tick(), clock_ms(CLOCK_REALTIME) + (uint64_t)off_ms);
    }
    for (;;) {
        struct pollfd sensors = {STDIN_FILENO, POLLIN, 0};
        uint64_t wait = pc_wait_ms(&hub, tick());
        int wait_ms = wait < PC_HEARTBEAT_MS ? (int)wait : PC_HEARTBEAT_MS;
        if (poll(&sensors, 1, wait_ms) > 0 && !sense(&hub)) return 0;
        if (pc_wait_ms(&hub, tick()) == 0) post(&hub, words[1], words[2], words[7]);
        show(&hub);
    }
}
