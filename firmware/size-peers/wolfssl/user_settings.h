/* wolfSSL's own small profile, as each variant needs it: PSK and P256 or HYBRID is defined by scripts/size-peers. */
#define WOLFSSL_TINY_TLS13
#if defined(P256) || defined(HYBRID)
#define WOLFSSL_TINY_TLS13_CERT
#define NO_PSK
#endif
#ifdef HYBRID
#define HAVE_ECC
#define ECC_USER_CURVES
#define HAVE_CURVE25519
#define CURVE25519_SMALL
#define WOLFSSL_HAVE_MLKEM
#define WOLFSSL_PQC_HYBRIDS
#define WOLFSSL_TLS_NO_MLKEM_STANDALONE
#define WOLFSSL_NO_ML_KEM_512
#define WOLFSSL_NO_ML_KEM_1024
#define WOLFSSL_MLKEM_DYNAMIC_KEYS
#endif

#define WOLFSSL_USER_IO
#define NO_FILESYSTEM
#define WOLFSSL_NO_SOCK
#define NO_WRITEV
#define WOLFSSL_NO_GETPID

/* board.c. */
int not_random(unsigned char *out, unsigned int len);
#define CUSTOM_RAND_GENERATE_SEED not_random
#define USER_TIME
#define WOLFSSL_GMTIME
#define HAVE_TIME_T_TYPE
#define HAVE_TM_TYPE
#include <time.h>
time_t board_time(time_t *out);
#define XTIME(out) board_time(out)
#include <stddef.h>
void *counted_malloc(size_t len);
void *counted_realloc(void *block, size_t len);
void counted_free(void *block);
#define XMALLOC_OVERRIDE
#define XMALLOC(len, heap, type) ((void)(heap), (void)(type), counted_malloc(len))
#define XREALLOC(block, len, heap, type) ((void)(heap), (void)(type), counted_realloc(block, len))
#define XFREE(block, heap, type) ((void)(heap), (void)(type), counted_free(block))
