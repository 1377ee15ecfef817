//! The handshake over every face: the suites that name no protocol below them run over records, over messages by
//! epoch, and over those of a protocol with other rules. The module that holds the suites chooses the face.
#![allow(clippy::duplicate_mod, reason = "each face runs the same suites")]

mod arrivals;
mod faces;
mod over_messages_of_another_protocol;
mod over_messages_of_tls;
mod over_records;
