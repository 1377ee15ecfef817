//! The suites over records, and the tests of the same behaviours that concern records, or deadlines and
//! closing, which belong to a stream.

mod certificate_choice;
mod lost;
mod owner_extensions;
mod pairs;
mod psk_modes;
mod questions;
mod receipts;
mod second_hello;
mod sessions;
#[path = "../suites/mod.rs"]
mod suites;

use tessera_harness::Face;

const FACE: Face = Face::Stream;
