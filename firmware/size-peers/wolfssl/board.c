/* The emulated board in C: what firmware/src/board.rs, one_heap.rs and xorshift.rs are for Rust. */
#include "board.h"
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int client(void);

#define UART(offset) (*(volatile uint32_t *)(0x50200000 + (offset)))

void uart_send(const unsigned char *bytes, size_t len)
{
    for (; len > 0; len--) {
        while (UART(4) & 1)
            ;
        UART(0) = *bytes++;
    }
}

unsigned char uart_receive(void)
{
    while (!(UART(4) & 2))
        ;
    return (unsigned char)UART(0);
}

/* Bytes that are NOT random: Marsaglia's xorshift. */
int not_random(unsigned char *out, unsigned int len)
{
    static uint32_t state = 0x9e3779b9;
    while (len-- > 0) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        *out++ = (unsigned char)state;
    }
    return 0;
}

/* The time of every connection: in 2027. */
time_t board_time(time_t *out)
{
    const time_t now = 1800000000;
    if (out)
        *out = now;
    return now;
}

/* Newlib's heap, which is counted. scripts/size-peers finds both by their names. */
volatile size_t HEAP_PEAK;
static char HEAP_MEMORY[256 * 1024] __attribute__((aligned(8), used));
static size_t used;

/* libc alone calls it, which link-time optimisation does not see. */
__attribute__((used)) void *_sbrk(ptrdiff_t more)
{
    static size_t taken;
    if (taken + more > sizeof HEAP_MEMORY)
        return (void *)-1;
    taken += more;
    return HEAP_MEMORY + taken - more;
}

static void *counted(void *block)
{
    if (block)
        used += malloc_usable_size(block);
    if (used > HEAP_PEAK)
        HEAP_PEAK = used;
    return block;
}

void *counted_malloc(size_t len)
{
    return counted(malloc(len));
}

void counted_free(void *block)
{
    if (block)
        used -= malloc_usable_size(block);
    free(block);
}

void *counted_realloc(void *block, size_t len)
{
    size_t before = block ? malloc_usable_size(block) : 0;
    void *moved = realloc(block, len);
    if (moved)
        used -= before;
    return counted(moved);
}

/* Semihosting's SYS_EXIT. */
static void finish(int is_good)
{
    register uint32_t operation __asm__("r0") = 0x18;
    register uint32_t reason __asm__("r1") = is_good ? 0x20026 : 0x20024;
    for (;;)
        __asm__ volatile("bkpt 0xab" ::"r"(operation), "r"(reason) : "memory");
}

extern char data_start[], data_end[], data_source[], bss_start[], bss_end[], stack_start[];

__attribute__((used)) void reset(void)
{
    memcpy(data_start, data_source, data_end - data_start);
    memset(bss_start, 0, bss_end - bss_start);
    UART(16) = 16;
    UART(8) = 3;
    finish(client());
}

static void fault(void)
{
    finish(0);
}

__attribute__((section(".vector_table"), used)) static const void *vectors[] = {
    stack_start, reset, fault, fault, fault, fault, fault, fault,
};
