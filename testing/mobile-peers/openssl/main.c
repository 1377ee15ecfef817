/* Arguments. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

static const char USAGE[] =
    "usage: openssl-peer server --arm ARM --listen IP:PORT --certificate PEM --key PEM\n"
    "       openssl-peer client --arm ARM --connect IP:PORT --ca PEM --sources IP[,IP] --acks N --pace-ms N\n"
    "                           --timeout-ms N --timeouts {1,2} --detection {timeout,rtt3,event} [--restarts 1]\n"
    "ARM: openssl-full, openssl-session-id, openssl-ticket, openssl-ipc, openssl-tcs\n";

static const char *const ARMS[] = {
    "openssl-full", "openssl-session-id", "openssl-ticket", "openssl-ipc", "openssl-tcs", NULL};
static const char *const DETECTIONS[] = {"timeout", "rtt3", "event", NULL};

static void refuse(const char *option, const char *value) {
    fprintf(stderr, "openssl-peer: %s: %s\n%s", option, value, USAGE);
    exit(2);
}

static int one_of(const char *const *names, const char *option, const char *value) {
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], value) == 0) return i;
    refuse(option, value);
    return 0;
}

static unsigned long number(const char *option, const char *value, unsigned long most) {
    char *end;
    unsigned long number = strtoul(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || number == 0 || number > most) refuse(option, value);
    return number;
}

static address parse_address(const char *option, const char *value) {
    address address = {.sin_family = AF_INET};
    char ip[INET_ADDRSTRLEN] = "";
    const char *colon = strrchr(value, ':');
    if (!colon || (size_t)(colon - value) >= sizeof ip) refuse(option, value);
    memcpy(ip, value, (size_t)(colon - value));
    if (inet_pton(AF_INET, ip, &address.sin_addr) != 1) refuse(option, value);
    /* A server may leave the port to the kernel. */
    address.sin_port = htons(strcmp(colon, ":0") == 0 ? 0 : (uint16_t)number(option, colon + 1, 65535));
    return address;
}

static void parse_sources(struct options *options, char *value) {
    options->source_count = 0;
    for (char *ip = strtok(value, ","); ip; ip = strtok(NULL, ",")) {
        if (options->source_count == 2) refuse("--sources", "more than two");
        if (inet_pton(AF_INET, ip, &options->sources[options->source_count++]) != 1) refuse("--sources", ip);
    }
}

static void parse_option(struct options *options, const char *option, char *value) {
    int server = options->is_server;
    if (strcmp(option, "--arm") == 0) options->arm = (enum arm)one_of(ARMS, option, value);
    else if (server && strcmp(option, "--listen") == 0) options->server = parse_address(option, value);
    else if (server && strcmp(option, "--certificate") == 0) options->certificate = value;
    else if (server && strcmp(option, "--key") == 0) options->key = value;
    else if (!server && strcmp(option, "--connect") == 0) options->server = parse_address(option, value);
    else if (!server && strcmp(option, "--ca") == 0) options->ca = value;
    else if (!server && strcmp(option, "--sources") == 0) parse_sources(options, value);
    else if (!server && strcmp(option, "--acks") == 0) options->acks = (uint32_t)number(option, value, 1000000);
    else if (!server && strcmp(option, "--pace-ms") == 0) options->pace = number(option, value, 60000) * MILLISECOND;
    else if (!server && strcmp(option, "--timeout-ms") == 0)
        options->timeout = number(option, value, 60000) * MILLISECOND;
    else if (!server && strcmp(option, "--timeouts") == 0) options->timeouts = (unsigned)number(option, value, 2);
    else if (!server && strcmp(option, "--detection") == 0)
        options->detection = (enum detection)one_of(DETECTIONS, option, value);
    else if (!server && strcmp(option, "--restarts") == 0) options->restarts = (unsigned)number(option, value, 1);
    else refuse(option, "no such option");
}

int main(int count, char **arguments) {
    struct options options = {.arm = (enum arm)-1, .detection = (enum detection)-1};
    if (count < 2) refuse("the first argument", "client or server");
    options.is_server = strcmp(arguments[1], "server") == 0;
    if (!options.is_server && strcmp(arguments[1], "client") != 0) refuse("the first argument", arguments[1]);
    for (int i = 2; i < count; i += 2) {
        if (i + 1 == count) refuse(arguments[i], "has no value");
        parse_option(&options, arguments[i], arguments[i + 1]);
    }
    if ((int)options.arm == -1 || options.server.sin_family != AF_INET) refuse("--arm, --listen, --connect", "missing");
    if (options.is_server && !(options.certificate && options.key)) refuse("--certificate, --key", "missing");
    if (!options.is_server
        && !(options.ca && options.source_count && options.acks && options.pace && options.timeout && options.timeouts
             && (int)options.detection != -1))
        refuse("a client's options", "missing");
    setvbuf(stdout, NULL, _IOLBF, 0);
    /* A reader that has gone is noticed at the next line. */
    signal(SIGPIPE, SIG_DFL);
    return options.is_server ? run_server(&options) : run_client(&options);
}
