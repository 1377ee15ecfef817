/* A peer of BoringSSL's (see boringssl.rs), which caches its server's chain by public ids:
 *
 *     boringssl_peer client PORT CA-FILE NAME TIMES    connects to 127.0.0.1 so many times, one after the other
 *     boringssl_peer server CHAIN-FILE KEY-FILE        serves one connection after the other on a port that it prints
 *
 * BoringSSL is as it is: all of this goes through SSL_CTX_add_cert_compression_alg. The format is that of
 * docs/cached-handshakes.md. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/bytestring.h>
#include <openssl/err.h>
#include <openssl/pool.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>

enum { CHAINS = 4, CERTIFICATES = 8 };

struct chain {
    uint8_t hash[SHA256_DIGEST_LENGTH];
    size_t len;
    CRYPTO_BUFFER *certificates[CERTIFICATES];
};

/* What a client learned. */
static struct chain known[CHAINS];
static size_t known_len;

static const char *how;

static void must(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "%s failed: ", what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

/* The hash of the Certificate message of TLS 1.2 with this list. */
static void hash_list(const CBB *list, uint8_t hash[SHA256_DIGEST_LENGTH]) {
    size_t len = CBB_len(list);
    uint8_t head[7] = {11, 0, (uint8_t)((len + 3) >> 8), (uint8_t)(len + 3), 0, (uint8_t)(len >> 8), (uint8_t)len};
    must(len + 3 < 1 << 16, "a short chain");
    SHA256_CTX sha256;
    SHA256_Init(&sha256);
    SHA256_Update(&sha256, head, sizeof head);
    SHA256_Update(&sha256, CBB_data(list), len);
    SHA256_Final(hash, &sha256);
}

static int add(CBB *list, const uint8_t *certificate, size_t len) {
    CBB one;
    return CBB_add_u24_length_prefixed(list, &one) && CBB_add_bytes(&one, certificate, len) && CBB_flush(list);
}

static struct chain chain_of(const STACK_OF(CRYPTO_BUFFER) *buffers) {
    struct chain chain = {.len = sk_CRYPTO_BUFFER_num(buffers)};
    must(chain.len >= 1 && chain.len <= CERTIFICATES, "a chain of a few certificates");
    CBB list;
    must(CBB_init(&list, 4096), "CBB_init");
    for (size_t i = 0; i < chain.len; i++) {
        CRYPTO_BUFFER *one = sk_CRYPTO_BUFFER_value(buffers, i);
        chain.certificates[i] = one;
        CRYPTO_BUFFER_up_ref(one);
        must(add(&list, CRYPTO_BUFFER_data(one), CRYPTO_BUFFER_len(one)), "a list");
    }
    hash_list(&list, chain.hash);
    CBB_cleanup(&list);
    return chain;
}

static uint16_t public_id(const struct chain *chain) {
    return (uint16_t)(0xc000 | ((chain->hash[0] & 0x3f) << 8) | chain->hash[1]);
}

/* The hash in place of the chain, then the extensions of every entry if there are any. */
static int compress(SSL *ssl, CBB *out, const uint8_t *in, size_t in_len) {
    (void)ssl;
    CBS body, context, list, certificate, extensions;
    CBS_init(&body, in, in_len);
    CBB certificates, rest;
    if (!CBS_get_u8_length_prefixed(&body, &context) || CBS_len(&context) || !CBS_get_u24_length_prefixed(&body, &list) ||
        CBS_len(&body) || !CBB_init(&certificates, in_len) || !CBB_init(&rest, 64)) {
        return 0;
    }
    int good = 1, has_extensions = 0;
    while (good && CBS_len(&list)) {
        CBB one;
        good = CBS_get_u24_length_prefixed(&list, &certificate) && CBS_get_u16_length_prefixed(&list, &extensions) &&
               add(&certificates, CBS_data(&certificate), CBS_len(&certificate)) &&
               CBB_add_u16_length_prefixed(&rest, &one) &&
               CBB_add_bytes(&one, CBS_data(&extensions), CBS_len(&extensions)) && CBB_flush(&rest);
        has_extensions |= CBS_len(&extensions) > 0;
    }
    if (good) {
        uint8_t hash[SHA256_DIGEST_LENGTH];
        hash_list(&certificates, hash);
        good = CBB_add_bytes(out, hash, sizeof hash) &&
               (!has_extensions || CBB_add_bytes(out, CBB_data(&rest), CBB_len(&rest)));
        how = "hash";
    }
    CBB_cleanup(&certificates);
    CBB_cleanup(&rest);
    return good;
}

static int decompress(SSL *ssl, CRYPTO_BUFFER **out, size_t uncompressed_len, const uint8_t *in, size_t in_len) {
    (void)ssl;
    if (in_len < SHA256_DIGEST_LENGTH) return 0;
    const struct chain *chain = NULL;
    for (size_t i = 0; i < known_len; i++) {
        if (!memcmp(known[i].hash, in, SHA256_DIGEST_LENGTH)) chain = &known[i];
    }
    CBS rest, extensions;
    CBS_init(&rest, in + SHA256_DIGEST_LENGTH, in_len - SHA256_DIGEST_LENGTH);
    int has_extensions = CBS_len(&rest) > 0;
    CBB body, list, one;
    if (!chain || !CBB_init(&body, uncompressed_len)) return 0;
    int good = CBB_add_u8(&body, 0) && CBB_add_u24_length_prefixed(&body, &list);
    for (size_t i = 0; good && i < chain->len; i++) {
        const CRYPTO_BUFFER *certificate = chain->certificates[i];
        CBS_init(&extensions, NULL, 0);
        good = add(&list, CRYPTO_BUFFER_data(certificate), CRYPTO_BUFFER_len(certificate)) &&
               (!has_extensions || CBS_get_u16_length_prefixed(&rest, &extensions)) &&
               CBB_add_u16_length_prefixed(&list, &one) &&
               CBB_add_bytes(&one, CBS_data(&extensions), CBS_len(&extensions)) && CBB_flush(&list);
    }
    good = good && !CBS_len(&rest) && CBB_flush(&body) && CBB_len(&body) == uncompressed_len;
    if (good) *out = CRYPTO_BUFFER_new(CBB_data(&body), CBB_len(&body), NULL);
    CBB_cleanup(&body);
    how = "hash";
    return good && *out;
}

/* Says what it says, and prints what it hears until the other end closes. */
static void talk(SSL *ssl) {
    static const char greeting[] = "from BoringSSL\n";
    must(SSL_write(ssl, greeting, sizeof greeting - 1) > 0, "SSL_write");
    char heard[4096];
    int count;
    while ((count = SSL_read(ssl, heard, sizeof heard)) > 0) fwrite(heard, 1, (size_t)count, stdout);
    must(SSL_get_error(ssl, count) == SSL_ERROR_ZERO_RETURN, "the other end's close_notify");
    SSL_shutdown(ssl);
    fflush(stdout);
}

static struct sockaddr_in loopback(const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static void client(char **argv) {
    struct sockaddr_in address = loopback(argv[0]);
    for (int times = atoi(argv[3]); times > 0; times--) {
        SSL_CTX *context = SSL_CTX_new(TLS_method());
        must(context && SSL_CTX_load_verify_locations(context, argv[1], NULL), "the authority");
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
        for (size_t i = 0; i < known_len; i++) {
            must(SSL_CTX_add_cert_compression_alg(context, public_id(&known[i]), NULL, decompress), "an algorithm");
        }
        SSL *ssl = SSL_new(context);
        must(ssl && SSL_set_tlsext_host_name(ssl, argv[2]) && SSL_set1_host(ssl, argv[2]), "the name");
        int connection = socket(AF_INET, SOCK_STREAM, 0);
        must(connect(connection, (struct sockaddr *)&address, sizeof address) == 0, "connect");
        how = "whole";
        must(SSL_set_fd(ssl, connection) && SSL_connect(ssl) == 1, "the handshake");
        /* Only now is the chain the server's. */
        struct chain chain = chain_of(SSL_get0_peer_certificates(ssl));
        if (!strcmp(how, "whole") && known_len < CHAINS) known[known_len++] = chain;
        printf("the server's chain came: %s\n", how);
        talk(ssl);
        SSL_free(ssl);
        SSL_CTX_free(context);
        close(connection);
    }
}

static void server(char **argv) {
    SSL_CTX *context = SSL_CTX_new(TLS_method());
    must(context && SSL_CTX_use_certificate_chain_file(context, argv[0]), "the chain");
    must(SSL_CTX_use_PrivateKey_file(context, argv[1], SSL_FILETYPE_ASN1), "the key");
    struct chain own = chain_of(SSL_CTX_get0_chain(context));
    must(SSL_CTX_add_cert_compression_alg(context, public_id(&own), compress, NULL), "an algorithm");
    struct sockaddr_in address = loopback("0");
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    must(bind(listener, (struct sockaddr *)&address, len) == 0 && listen(listener, 8) == 0, "listen");
    must(getsockname(listener, (struct sockaddr *)&address, &len) == 0, "getsockname");
    printf("port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        must(connection >= 0, "accept");
        SSL *ssl = SSL_new(context);
        how = "whole";
        must(ssl && SSL_set_fd(ssl, connection) && SSL_accept(ssl) == 1, "the handshake");
        printf("the chain was sent: %s\n", how);
        talk(ssl);
        SSL_free(ssl);
        close(connection);
    }
}

int main(int argc, char **argv) {
    fprintf(stderr, "begins\n");
    if (argc == 6 && !strcmp(argv[1], "client")) {
        client(argv + 2);
    } else {
        must(argc == 4 && !strcmp(argv[1], "server"), "arguments");
        server(argv + 2);
    }
    return 0;
}
