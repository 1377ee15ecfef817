//! The handshake over every face: the suites that don't depend on a protocol below run over records, over messages
//! by epoch, and over those of a protocol with other rules. The module that contains the suites chooses the face.
#![allow(clippy::duplicate_mod, reason = "each face runs the same suites")]

mod arrivals;
mod early_records;
mod faces;
mod over_messages_of_another_protocol;
mod over_messages_of_tls;
mod over_records;
