//! The suites over messages by epoch instead of records, in TLS.

use tessera::face::STREAM;
use tessera_harness::Face;

const FACE: Face = Face::Messages(&STREAM);

#[path = "suites/mod.rs"]
mod suites;
