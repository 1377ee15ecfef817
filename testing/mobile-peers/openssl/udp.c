/* UDP sockets over IPv4, and what passed them. */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"

struct traffic traffic;

int udp_socket(address local, int is_shared) {
    int udp = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (udp < 0) return -1;
    if (is_shared) setsockopt(udp, SOL_SOCKET, SO_REUSEADDR, &is_shared, sizeof is_shared);
    if (bind(udp, (struct sockaddr *)&local, sizeof local) == 0) return udp;
    close(udp);
    return -1;
}

address local_address(int udp) {
    address address = {0};
    socklen_t length = sizeof address;
    getsockname(udp, (struct sockaddr *)&address, &length);
    return address;
}

int same_address(address a, address b) {
    return a.sin_addr.s_addr == b.sin_addr.s_addr && a.sin_port == b.sin_port;
}

void udp_send(int udp, address to, const void *data, size_t length) {
    if (sendto(udp, data, length, 0, (struct sockaddr *)&to, sizeof to) < 0) return;
    traffic.datagrams_sent++;
    traffic.bytes_sent += length;
}

int udp_receive(int udp, unsigned char *buffer, address *from) {
    socklen_t size = sizeof *from;
    ssize_t length = recvfrom(udp, buffer, LONGEST_DATAGRAM, 0, (struct sockaddr *)from, &size);
    if (length < 0) return -1;
    traffic.datagrams_received++;
    traffic.bytes_received += (unsigned long)length;
    return (int)length;
}

const char *address_text(address address) {
    static char texts[4][INET_ADDRSTRLEN + 6];
    static unsigned next;
    char *text = texts[next++ % 4], ip[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &address.sin_addr, ip, sizeof ip);
    snprintf(text, sizeof texts[0], "%s:%u", ip, ntohs(address.sin_port));
    return text;
}
