/* The emulated board, as ../board has it for Rust. */
#include <stddef.h>
void uart_send(const unsigned char *bytes, size_t len);
unsigned char uart_receive(void);
