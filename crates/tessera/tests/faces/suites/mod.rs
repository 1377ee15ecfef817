//! Suites for any face. Their pairs and scenes are over `FACE`, which the module above chooses.

pub(super) mod certificate_choice;
pub(super) mod lost;
mod one_time_psks;
pub(super) mod owner;
pub(super) mod owner_extensions;
mod pairs;
pub(super) mod psk_modes;
pub(super) mod questions;
pub(super) mod receipts;
mod reconnect;
mod second_hello;
pub(super) mod sessions;
mod tickets;

use super::FACE;
