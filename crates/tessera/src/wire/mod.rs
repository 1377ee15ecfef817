//! Messages and extensions: read and write, nothing else.

mod certificate;
mod certificate_compression;
mod certificate_criteria;
mod certificate_request;
mod certificate_type;
mod client_hello;
mod code_points;
mod distinct;
mod encrypted_extensions;
mod entry_extensions;
mod extensions;
mod grease;
mod handshake;
mod key_share;
mod negotiation;
mod new_session_ticket;
mod pre_shared_key;
mod reader;
mod server_hello;
mod writer;

pub(crate) use certificate::{
    Certificate, CertificateVerify, write_certificate_body, write_no_certificate,
};
pub(crate) use certificate_compression::{CompressedCertificate, write_compression_algorithms};
pub(crate) use certificate_criteria::{CertificateCriteria, write_certificate_criteria};
pub(crate) use certificate_request::CertificateRequest;
pub(crate) use certificate_type::{CertificateTypes, need_listing, write_certificate_types};
pub(crate) use client_hello::ClientHello;
pub use code_points::*;
pub(crate) use encrypted_extensions::EncryptedExtensions;
pub use entry_extensions::EntryExtensions;
pub(crate) use entry_extensions::{MAX_STAPLED, read_sct_list};
pub(crate) use extensions::{Extensions, write_extension};
pub(crate) use grease::Grease;
pub(crate) use handshake::{HANDSHAKE_HEADER_LEN, HandshakeMessage, write_message};
pub(crate) use key_share::{KeyShareEntry, write_client_key_shares};
pub use negotiation::TicketRequest;
pub(crate) use negotiation::{
    write_code_points, write_empty, write_protocols, write_record_size_limit, write_server_name,
};
pub use new_session_ticket::TICKET_ID_LEN;
pub(crate) use new_session_ticket::{ForwardSecretTicket, MAX_LIFETIME, NewSessionTicket};
pub(crate) use pre_shared_key::{OfferedPsks, PskIdentity, PskModes, write_offered_psks};
pub(crate) use reader::{CodePoints, Reader};
pub(crate) use server_hello::{HelloAnswer, HelloRetryRequest, ServerHello};
pub(crate) use writer::Writer;
