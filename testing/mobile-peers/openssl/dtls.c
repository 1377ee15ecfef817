/* An SSL above a socket of ours: contexts, cookies, and a BIO that keeps datagrams apart. */
#include <string.h>
#include <sys/time.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "peer.h"

/* OpenSSL 3.0 has no memory BIO with boundaries of datagrams. It writes each datagram at once, and reads one at once. */

static int bio_write(BIO *bio, const char *data, int length) {
    struct channel *channel = BIO_get_data(bio);
    udp_send(channel->socket, channel->peer, data, (size_t)length);
    return length;
}

static int bio_read(BIO *bio, char *buffer, int size) {
    struct channel *channel = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (!channel->datagram) {
        BIO_set_retry_read(bio);
        return -1;
    }
    int length = (int)channel->length < size ? (int)channel->length : size;
    memcpy(buffer, channel->datagram, (size_t)length);
    channel->datagram = NULL;
    return length;
}

static long bio_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *bio_method(void) {
    static BIO_METHOD *method;
    if (method) return method;
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "channel");
    if (!method) fail("no memory");
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_ctrl(method, bio_control);
    return method;
}

/* RFC 6347 §4.2.1: a cookie is a MAC of the client's address under a secret of the server's. */
static int generate_cookie(SSL *ssl, unsigned char *cookie, unsigned *length) {
    static unsigned char secret[32];
    static int has_secret;
    if (!has_secret && RAND_bytes(secret, sizeof secret) != 1) return 0;
    has_secret = 1;
    struct channel *channel = SSL_get_app_data(ssl);
    unsigned char peer[6];
    memcpy(peer, &channel->peer.sin_addr, 4);
    memcpy(peer + 4, &channel->peer.sin_port, 2);
    return HMAC(EVP_sha256(), secret, sizeof secret, peer, sizeof peer, cookie, length) != NULL;
}

static int verify_cookie(SSL *ssl, const unsigned char *cookie, unsigned length) {
    unsigned char expected[EVP_MAX_MD_SIZE];
    unsigned expected_length;
    return generate_cookie(ssl, expected, &expected_length) && length == expected_length
           && CRYPTO_memcmp(cookie, expected, length) == 0;
}

SSL_CTX *dtls_context(const struct options *options) {
    SSL_CTX *context = SSL_CTX_new(options->is_server ? DTLS_server_method() : DTLS_client_method());
    if (!context) fail("SSL_CTX_new");
    SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION);
    SSL_CTX_set_max_proto_version(context, DTLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_RENEGOTIATION);
    if (options->arm != TICKET) SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(
        context, options->is_server && options->arm == SESSION_ID ? SSL_SESS_CACHE_SERVER : SSL_SESS_CACHE_OFF);
    if (options->is_server) {
        static const unsigned char name[] = "mobile-peer";
        SSL_CTX_set_session_id_context(context, name, sizeof name - 1);
        SSL_CTX_set_cookie_generate_cb(context, generate_cookie);
        SSL_CTX_set_cookie_verify_cb(context, verify_cookie);
        if (SSL_CTX_use_certificate_chain_file(context, options->certificate) != 1) fail("%s", options->certificate);
        if (SSL_CTX_use_PrivateKey_file(context, options->key, SSL_FILETYPE_PEM) != 1) fail("%s", options->key);
    } else {
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
        if (SSL_CTX_load_verify_locations(context, options->ca, NULL) != 1) fail("%s", options->ca);
    }
    return context;
}

SSL *dtls_new(SSL_CTX *context, struct channel *channel) {
    SSL *ssl = SSL_new(context);
    BIO *bio = BIO_new(bio_method());
    if (!ssl || !bio) fail("SSL_new");
    BIO_set_data(bio, channel);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_app_data(ssl, channel);
    SSL_set_mtu(ssl, MTU);
    return ssl;
}

void dtls_free(SSL *ssl) {
    if (!ssl) return;
    /* Otherwise OpenSSL forgets the session. */
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(ssl);
}

uint64_t dtls_deadline(SSL *ssl) {
    struct timeval left;
    if (DTLSv1_get_timeout(ssl, &left) != 1) return UINT64_MAX;
    if (left.tv_sec == 0 && left.tv_usec == 0) return 0;
    return now() + (uint64_t)left.tv_sec * SECOND + (uint64_t)left.tv_usec * 1000;
}

int dtls_failed(SSL *ssl, int result) {
    int error = SSL_get_error(ssl, result);
    int is_fatal = error != SSL_ERROR_NONE && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE;
    if (!is_fatal) ERR_clear_error();
    return is_fatal;
}

int first_handshake_message(const unsigned char *datagram, size_t length) {
    static const unsigned char HANDSHAKE = 22;
    /* In epoch 0: later ones are encrypted. */
    int is_plain = length > 13 && datagram[0] == HANDSHAKE && datagram[3] == 0 && datagram[4] == 0;
    return is_plain ? datagram[13] : -1;
}
