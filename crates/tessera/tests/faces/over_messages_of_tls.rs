//! The handshake suites once more, over messages by epoch instead of records: no test names the face, this
//! program's name chooses it ([`tessera_harness::Face`]). Some tests of these files are about records, or about
//! deadlines and closing, which belong to a stream: they begin with `about_records!()`, and prove nothing here.

mod suites;
