/* A client of wolfSSL: sends a line over the UART, and ends when one comes back. */
#include "board.h"
#include <string.h>
#include <wolfssl/wolfcrypt/settings.h>
#include <wolfssl/ssl.h>

static int on_send(WOLFSSL *ssl, char *bytes, int len, void *context)
{
    (void)ssl;
    (void)context;
    uart_send((const unsigned char *)bytes, (size_t)len);
    return len;
}

static int on_receive(WOLFSSL *ssl, char *bytes, int len, void *context)
{
    (void)ssl;
    (void)context;
    for (int at = 0; at < len; at++)
        bytes[at] = (char)uart_receive();
    return len;
}

#ifdef PSK
static unsigned int on_psk(WOLFSSL *ssl, const char *hint, char *identity, unsigned int identity_len, unsigned char *key,
                           unsigned int key_len, const char **suite)
{
    (void)ssl;
    (void)hint;
    (void)identity_len;
    (void)key_len;
    strcpy(identity, "device");
    memset(key, 7, 32);
    *suite = "TLS13-AES128-GCM-SHA256";
    return 32;
}

static int knows_server(WOLFSSL_CTX *config)
{
    wolfSSL_CTX_set_psk_client_tls13_callback(config, on_psk);
    return 1;
}
#else
__asm__(".section .rodata.root\n.global root_der, root_der_end\nroot_der: .incbin \"root.der\"\nroot_der_end:\n.previous");
extern const unsigned char root_der[], root_der_end[];

static int knows_server(WOLFSSL_CTX *config)
{
    long len = root_der_end - root_der;
    wolfSSL_CTX_set_verify(config, WOLFSSL_VERIFY_PEER, 0);
    return wolfSSL_CTX_load_verify_buffer(config, root_der, len, WOLFSSL_FILETYPE_ASN1) == WOLFSSL_SUCCESS;
}
#endif

static const char LINE[] = "from the device\n";

int client(void)
{
    char answer[64];
    WOLFSSL_CTX *config;
    WOLFSSL *ssl;
    if (wolfSSL_Init() != WOLFSSL_SUCCESS || !(config = wolfSSL_CTX_new(wolfTLSv1_3_client_method())))
        return 0;
    if (!knows_server(config))
        return 0;
    wolfSSL_CTX_SetIOSend(config, on_send);
    wolfSSL_CTX_SetIORecv(config, on_receive);
    if (!(ssl = wolfSSL_new(config)))
        return 0;
#ifndef PSK
    if (wolfSSL_check_domain_name(ssl, "server.example") != WOLFSSL_SUCCESS)
        return 0;
#endif
#ifdef HYBRID
    if (wolfSSL_UseKeyShare(ssl, WOLFSSL_X25519MLKEM768) != WOLFSSL_SUCCESS)
        return 0;
#endif
    if (wolfSSL_connect(ssl) != WOLFSSL_SUCCESS)
        return 0;
    if (wolfSSL_write(ssl, LINE, sizeof LINE - 1) <= 0 || wolfSSL_read(ssl, answer, sizeof answer) <= 0)
        return 0;
    wolfSSL_shutdown(ssl);
    return 1;
}
