/* wolfssl_client PORT CA-FILE NAME: a TLS 1.3 client of 127.0.0.1 (see wolfssl.rs). */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <wolfssl/options.h>
#include <wolfssl/ssl.h>

static WOLFSSL *ssl;

static void must(int good, const char *what) {
    if (good) return;
    char reason[80] = "";
    if (ssl) wolfSSL_ERR_error_string(wolfSSL_get_error(ssl, 0), reason);
    fprintf(stderr, "%s failed: %s\n", what, reason);
    exit(1);
}

int main(int argc, char **argv) {
    must(argc == 4, "arguments");
    fprintf(stderr, "begins\n");
    struct sockaddr_in address = {0};
    address.sin_family = AF_INET;
    address.sin_port = htons((unsigned short)atoi(argv[1]));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    must(connect(connection, (struct sockaddr *)&address, sizeof address) == 0, "connect");

    must(wolfSSL_Init() == WOLFSSL_SUCCESS, "wolfSSL_Init");
    WOLFSSL_CTX *context = wolfSSL_CTX_new(wolfTLSv1_3_client_method());
    must(context != NULL, "wolfSSL_CTX_new");
    must(wolfSSL_CTX_load_verify_locations(context, argv[2], NULL) == WOLFSSL_SUCCESS, "CA");
    ssl = wolfSSL_new(context);
    must(ssl != NULL, "wolfSSL_new");
    unsigned short length = (unsigned short)strlen(argv[3]);
    must(wolfSSL_UseSNI(ssl, WOLFSSL_SNI_HOST_NAME, argv[3], length) == WOLFSSL_SUCCESS, "SNI");
    must(wolfSSL_check_domain_name(ssl, argv[3]) == WOLFSSL_SUCCESS, "name");
    must(wolfSSL_set_fd(ssl, connection) == WOLFSSL_SUCCESS, "wolfSSL_set_fd");
    must(wolfSSL_connect(ssl) == WOLFSSL_SUCCESS, "the handshake");

    static const char greeting[] = "from wolfSSL\n";
    must(wolfSSL_write(ssl, greeting, sizeof greeting - 1) > 0, "wolfSSL_write");
    char heard[4096];
    int count;
    while ((count = wolfSSL_read(ssl, heard, sizeof heard)) > 0) {
        fwrite(heard, 1, (size_t)count, stdout);
        fflush(stdout);
    }
    must(wolfSSL_get_error(ssl, count) == WOLFSSL_ERROR_ZERO_RETURN, "the server's end");
    wolfSSL_shutdown(ssl);
    return 0;
}
