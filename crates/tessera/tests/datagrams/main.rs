//! DTLS 1.3 (RFC 9147): both ends over a link that loses, doubles, delays and forges datagrams, in virtual time.

mod connection_ids;
mod early_data;
mod forged;
mod fuzz;
mod handshakes;
mod kem_attacks;
mod kem_authentication;
mod key_updates;
mod losses;
mod path_messages;
mod server_address;
mod sleep;
mod world;
