//! Identities of peers: how they are verified, and how long they stay valid.

mod anchors;
mod association;
mod certificate;
mod modes;
mod names;
mod peers;
mod remembered;
mod verifier;

pub use self::anchors::{SharedNetwork, TrustAnchor, TrustAnchors};
pub use self::association::{AssociationId, AssociationLookup};
pub use self::certificate::CertificateIdentity;
pub use self::modes::Modes;
pub use self::peers::{KnownPeer, KnownPeers, PeerConflict};
pub use self::remembered::{Direction, Identity, IdentityTooLong, Listener};
pub use self::verifier::SeppVerifier;
