//! Reading and writing messages and extensions, nothing else.

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
mod flight_handle;
mod forward_secret_offer;
mod grease;
mod handshake;
mod kem_encapsulation;
mod key_share;
mod new_session_ticket;
mod opaque_extensions;
mod pre_shared_key;
mod protocols;
mod reader;
mod rejection;
mod server_hello;
mod server_name;
mod small_extensions;
mod versions;
mod writer;

pub(crate) use certificate::max_chain;
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
pub(crate) use extensions::{Extensions, write_code_points, write_empty, write_extension};
pub use flight_handle::FlightHandle;
pub(crate) use forward_secret_offer::ForwardSecretOffer;
pub(crate) use grease::{Grease, is_grease};
pub use handshake::HandshakeMessage;
pub(crate) use handshake::{HANDSHAKE_HEADER_LEN, write_message};
pub(crate) use kem_encapsulation::KemEncapsulation;
pub(crate) use key_share::{KeyShareEntry, write_client_key_shares};
pub use new_session_ticket::TICKET_ID_LEN;
pub(crate) use new_session_ticket::{ForwardSecretTicket, MAX_LIFETIME, NewSessionTicket};
pub use opaque_extensions::OpaqueExtension;
pub(crate) use pre_shared_key::{PskIdentity, PskModes, write_offered_psks};
pub(crate) use protocols::{Protocols, write_protocols};
pub(crate) use reader::CodePoints;
pub use reader::Reader;
pub(crate) use rejection::Rejection;
pub(crate) use server_hello::{HelloAnswer, HelloRetryRequest, ServerHello};
pub(crate) use server_name::write_server_name;
pub use small_extensions::TicketRequest;
pub(crate) use small_extensions::{
    CountEarlyRecords, EarlyRecordsTaken, MaxEarlyDataSize, MaxFragmentLength, RecordSizeLimit,
    SmallExtensions, write_small_extension,
};
pub use versions::Versions;
pub use writer::Writer;

pub use crate::alert::AlertDescription;
