/* A peer of wolfSSL's over DTLS 1.3: see ../README.md for its arguments, its commands and its answers. It is a program of
 * its own, compiled with the wolfSSL that scripts/dtls-peers fetches. */
#include <wolfssl/options.h>
#include <wolfssl/ssl.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* How long a command may take, in seconds: some retransmissions. */
#define PATIENCE 20

static const char *role, *ca, *chain, *key, *name, *group, *cid, *early_data;
static int mtu;

static WOLFSSL_CTX *ctx;
static WOLFSSL *ssl;
static WOLFSSL_SESSION *session;
static int fd = -1;
static char early[1024];

static void answer(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    printf("\n");
    fflush(stdout);
}

static void failed(const char *what, int code) {
    char text[WOLFSSL_MAX_ERROR_SZ];
    wolfSSL_ERR_error_string_n((unsigned long)code, text, sizeof text);
    answer("{\"error\":\"%s: %s (%d)\"}", what, text, code);
}

static void end(const char *why) {
    answer("{\"error\":\"%s\"}", why);
    exit(1);
}

static int bound(void) {
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int new = socket(AF_INET, SOCK_DGRAM, 0);
    if (new < 0 || bind(new, (struct sockaddr *)&any, sizeof any) || fcntl(new, F_SETFL, O_NONBLOCK))
        end("no socket");
    return new;
}

static int port_of(int of) {
    struct sockaddr_in own;
    socklen_t len = sizeof own;
    getsockname(of, (struct sockaddr *)&own, &len);
    return ntohs(own.sin_port);
}

/* Takes a datagram from any address, which becomes the peer's once a record of it was authenticated and is new. */
static int receive_from_anywhere(WOLFSSL *of, char *buffer, int len, void *context) {
    struct sockaddr_in from;
    socklen_t from_len = sizeof from;
    ssize_t received = recvfrom(fd, buffer, (size_t)len, 0, (struct sockaddr *)&from, &from_len);
    (void)context;
    if (received < 0)
        return errno == EAGAIN ? WOLFSSL_CBIO_ERR_WANT_READ : WOLFSSL_CBIO_ERR_GENERAL;
    wolfSSL_dtls_set_pending_peer(of, &from, from_len);
    return (int)received;
}

/* Waits for a datagram, or for wolfSSL's timer. */
static int wait_for(time_t until) {
    int millis = wolfSSL_dtls_get_current_timeout(ssl) * 1000;
    struct pollfd on = {.fd = fd, .events = POLLIN};
    if (wolfSSL_dtls13_use_quick_timeout(ssl))
        millis /= 4;
    int ready = poll(&on, 1, millis > 0 ? millis : 250);
    if (ready == 0)
        wolfSSL_dtls_got_timeout(ssl);
    return time(NULL) < until;
}

/* Repeats a call until it is done; returns 0, or an error of wolfSSL's. */
#define UNTIL_DONE(result, call)                                                                   \
    ({                                                                                             \
        time_t until_ = time(NULL) + PATIENCE;                                                     \
        int code_ = 0;                                                                             \
        while (((result) = (call)) <= 0) {                                                         \
            code_ = wolfSSL_get_error(ssl, (result));                                              \
            if (code_ != WOLFSSL_ERROR_WANT_READ && code_ != WOLFSSL_ERROR_WANT_WRITE)             \
                break;                                                                             \
            if (!wait_for(until_))                                                                 \
                break;                                                                             \
            code_ = 0;                                                                             \
        }                                                                                          \
        code_;                                                                                     \
    })

static void begin(void) {
    if (ssl)
        wolfSSL_free(ssl);
    if (!(ssl = wolfSSL_new(ctx)))
        end("no association");
    wolfSSL_dtls_set_using_nonblock(ssl, 1);
    if (mtu)
        wolfSSL_dtls_set_mtu(ssl, (unsigned short)mtu);
    if (cid) {
        unsigned char bytes[255];
        unsigned len = 0;
        for (; cid[2 * len] && cid[2 * len + 1]; len++)
            sscanf(cid + 2 * len, "%2hhx", &bytes[len]);
        wolfSSL_dtls_cid_use(ssl);
        wolfSSL_dtls_cid_set(ssl, bytes, len);
    }
    if (group) {
        int only = strcmp(group, "P-384") ? WOLFSSL_X25519MLKEM768 : WOLFSSL_ECC_SECP384R1;
        if (wolfSSL_set_groups(ssl, &only, 1) != WOLFSSL_SUCCESS)
            end("no such group");
        if (!strcmp(role, "client") && wolfSSL_UseKeyShare(ssl, (word16)only) != WOLFSSL_SUCCESS)
            end("no key share");
    }
    early[0] = 0;
}

/* Answers what is known of the handshake. */
static void shaken(void) {
    unsigned char *to_peer = NULL;
    unsigned to_peer_len = 0;
    int has_cid = cid && wolfSSL_dtls_cid_is_enabled(ssl);
    const char *statuses[] = {"not-offered", "rejected", "accepted"};
    int status = wolfSSL_get_early_data_status(ssl);
    if (has_cid && wolfSSL_dtls_cid_get_tx_size(ssl, &to_peer_len) == WOLFSSL_SUCCESS && to_peer_len)
        wolfSSL_dtls_cid_get0_tx(ssl, &to_peer);
    printf("{\"version\":\"%s\",\"resumed\":%s,\"early_data\":\"%s\",\"early\":\"%s\",\"group\":\"%s\",\"to_peer\":\"",
           wolfSSL_get_version(ssl), wolfSSL_session_reused(ssl) ? "true" : "false",
           statuses[status < 0 || status > 2 ? 0 : status], early, wolfSSL_get_curve_name(ssl));
    for (unsigned at = 0; to_peer && at < to_peer_len; at++)
        printf("%02x", to_peer[at]);
    answer("\"}");
    if (!strcmp(role, "server") && has_cid)
        wolfSSL_SSLSetIORecv(ssl, receive_from_anywhere);
}

static void connect_to(int port, int resumes, const char *data) {
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int result, written = 0, code;
    begin();
    if (fd >= 0)
        close(fd);
    fd = bound();
    wolfSSL_dtls_set_peer(ssl, &to, sizeof to);
    wolfSSL_set_fd(ssl, fd);
    wolfSSL_check_domain_name(ssl, name);
    wolfSSL_UseSNI(ssl, WOLFSSL_SNI_HOST_NAME, name, (unsigned short)strlen(name));
    if (resumes && wolfSSL_set_session(ssl, session) != WOLFSSL_SUCCESS)
        return answer("{\"error\":\"no session\"}");
    if (*data) {
        code = UNTIL_DONE(result, wolfSSL_write_early_data(ssl, data, (int)strlen(data), &written));
        if (code)
            return failed("early data", code);
    }
    code = UNTIL_DONE(result, wolfSSL_connect(ssl));
    if (code || result != WOLFSSL_SUCCESS)
        return failed("connect", code);
    shaken();
}

static void accept_one(void) {
    int result, code, len = 0;
    unsigned char first = 0;
    begin();
    /* What is there before a ClientHello belongs to the association before. */
    while (recv(fd, &first, 1, MSG_PEEK) > 0 && first != 22)
        recv(fd, &first, 1, 0);
    wolfSSL_set_fd(ssl, fd);
    /* Others are always asked for a cookie. */
    wolfSSL_dtls13_no_hrr_on_resume(ssl, 1);
    wolfSSL_dtls13_allow_ch_frag(ssl, 1);
    if (early_data) {
        code = UNTIL_DONE(result, wolfSSL_read_early_data(ssl, early, sizeof early - 1, &len));
        if (code)
            return failed("early data", code);
        early[len > 0 ? len : 0] = 0;
    }
    code = UNTIL_DONE(result, wolfSSL_accept(ssl));
    if (code || result != WOLFSSL_SUCCESS)
        return failed("accept", code);
    shaken();
}

static void receive(void) {
    char buffer[4096];
    int result, code = UNTIL_DONE(result, wolfSSL_read(ssl, buffer, sizeof buffer - 1));
    if (result > 0) {
        buffer[result] = 0;
        return answer("{\"data\":\"%s\"}", buffer);
    }
    if (code == WOLFSSL_ERROR_ZERO_RETURN)
        return answer("{\"closed\":true}");
    failed("receive", code);
}

int main(int count, char **arguments) {
    char line[2048], *text;
    if (count == 2 && !strcmp(arguments[1], "version"))
        return puts(wolfSSL_lib_version()) < 0;
    for (int at = 1; at < count; at++) {
        char *value = strchr(arguments[at], '=');
        if (!value)
            end("an argument without a value");
        *value++ = 0;
#define OPTION(of) if (!strcmp(arguments[at], #of)) of = value
        OPTION(role);
        OPTION(ca);
        OPTION(chain);
        OPTION(key);
        OPTION(name);
        OPTION(group);
        OPTION(cid);
        OPTION(early_data);
        if (!strcmp(arguments[at], "mtu"))
            mtu = atoi(value);
    }
    wolfSSL_Init();
    int is_server = !strcmp(role, "server");
    ctx = wolfSSL_CTX_new(is_server ? wolfDTLSv1_3_server_method() : wolfDTLSv1_3_client_method());
    if (!ctx || wolfSSL_CTX_load_verify_locations(ctx, ca, NULL) != WOLFSSL_SUCCESS)
        end("no authority");
    if (chain && (wolfSSL_CTX_use_certificate_chain_file(ctx, chain) != WOLFSSL_SUCCESS ||
                  wolfSSL_CTX_use_PrivateKey_file(ctx, key, WOLFSSL_FILETYPE_PEM) != WOLFSSL_SUCCESS))
        end("no certificate");
    wolfSSL_CTX_set_verify(ctx, WOLFSSL_VERIFY_PEER | WOLFSSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    if (is_server) {
        wolfSSL_CTX_set_max_early_data(ctx, 4096);
        fd = bound();
    }
    answer("{\"peer\":\"wolfSSL %s\",\"port\":%d}", wolfSSL_lib_version(), is_server ? port_of(fd) : 0);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if ((text = strchr(line, ' ')))
            *text++ = 0;
        else
            text = line + strlen(line);
        int result, code;
        if (!strcmp(line, "connect")) {
            connect_to(atoi(text), 0, "");
        } else if (!strcmp(line, "resume")) {
            char *data = strchr(text, ' ');
            connect_to(atoi(text), 1, data ? data + 1 : "");
        } else if (!strcmp(line, "accept")) {
            accept_one();
        } else if (!strcmp(line, "send")) {
            code = UNTIL_DONE(result, wolfSSL_write(ssl, text, (int)strlen(text)));
            code ? failed("send", code) : answer("{}");
        } else if (!strcmp(line, "receive")) {
            receive();
        } else if (!strcmp(line, "update")) {
            code = UNTIL_DONE(result, wolfSSL_update_keys(ssl) == WOLFSSL_SUCCESS ? 1 : -1);
            code ? failed("update", code) : answer("{}");
        } else if (!strcmp(line, "close")) {
            if (session)
                wolfSSL_SESSION_free(session);
            session = wolfSSL_get1_session(ssl);
            wolfSSL_shutdown(ssl);
            answer("{}");
        } else {
            answer("{\"error\":\"no such command\"}");
        }
    }
    return 0;
}
