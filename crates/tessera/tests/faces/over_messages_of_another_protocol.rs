//! The suites over messages by epoch, in a protocol with other labels, versions and rules than TLS: no
//! legacy_session_id, no EndOfEarlyData, no records.

use tessera_harness::{ANOTHER, Face};

const FACE: Face = Face::Messages(&ANOTHER);

#[path = "suites/mod.rs"]
mod suites;
