//! The handshake suites that name no face.

#[path = "../certificate_choice.rs"]
mod certificate_choice;
#[path = "../lost.rs"]
mod lost;
#[path = "../one_time_psks.rs"]
mod one_time_psks;
#[path = "../owner_extensions.rs"]
mod owner_extensions;
#[path = "../pairs.rs"]
mod pairs;
#[path = "../psk_modes.rs"]
mod psk_modes;
#[path = "../questions.rs"]
mod questions;
#[path = "../receipts.rs"]
mod receipts;
#[path = "../reconnect.rs"]
mod reconnect;
#[path = "../second_hello.rs"]
mod second_hello;
#[path = "../sessions.rs"]
mod sessions;
#[path = "../tickets.rs"]
mod tickets;
