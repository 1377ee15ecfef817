//! The handshake over records: what is offered, chosen, sent and refused, and what ends a connection.

mod certificate_compression;
mod closing;
mod configuration;
mod floods;
mod forged;
mod grease;
mod hellos;
mod judged;
mod kem_authentication;
mod kem_failures;
mod key_updates;
mod known_key_sessions;
mod known_keys;
mod no_certificates;
mod oversize;
mod padding;
mod post_quantum_groups;
mod private_extensions;
mod proof;
mod raw_public_keys;
mod record_size;
mod splits;
mod stapling;
mod suite_order;
mod wrong_messages;
