//! Extensions that the engine carries unread: the owner's own, such as QUIC's transport
//! parameters (RFC 9001 §8.2).

use alloc::vec::Vec;

use super::code_points::ExtensionType;
use super::distinct::Distinct;
use super::grease::is_grease;
use crate::error::{Error, illegal_parameter, require};
use crate::limits::{MAX_OPAQUE_EXTENSIONS, MAX_OPAQUE_LEN, copied};

/// An extension that only the owner or a certificate codec interprets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpaqueExtension {
    /// Its type: neither known to the engine nor a GREASE value (RFC 8701).
    pub typ: ExtensionType,
    /// Its contents.
    pub contents: Vec<u8>,
}

impl OpaqueExtension {
    /// Checks the extensions of a configuration.
    pub(crate) fn check_all(own: &[Self]) -> Result<(), Error> {
        let fit = own.len() <= MAX_OPAQUE_EXTENSIONS && Self::len_of(own) <= MAX_OPAQUE_LEN;
        require(fit, "extensions: at most 16, with 16 KiB in all")?;
        let mut types = Distinct::default();
        for Self { typ, .. } in own {
            require(!typ.is_known(), "extensions: a type that the engine handles itself")?;
            require(!is_grease(typ.0), "extensions: a GREASE value can't be a type")?;
            require(types.insert(typ.0), "extensions: a type occurs twice")?;
        }
        Ok(())
    }

    /// Returns the total length of their contents in bytes.
    pub(crate) fn len_of(own: &[Self]) -> usize {
        own.iter().map(|extension| extension.contents.len()).sum()
    }

    /// Returns the peer's extensions of the types that this side registered.
    pub(crate) fn of_peer<'a>(
        own: &[Self],
        sent: impl IntoIterator<Item = (ExtensionType, &'a [u8])>,
    ) -> Result<Vec<Self>, Error> {
        let mut received = Vec::new();
        if own.is_empty() {
            return Ok(received);
        }
        let mut len = 0;
        for (typ, contents) in sent.into_iter().filter(|(typ, _)| Self::names(own, *typ)) {
            len += contents.len();
            if len > MAX_OPAQUE_LEN {
                return Err(illegal_parameter("an owner's extensions of more than 16 KiB"));
            }
            received.push(Self { typ, contents: copied(contents)? });
        }
        received.shrink_to_fit();
        Ok(received)
    }

    /// Returns whether `own` has an extension of this type.
    pub(crate) fn names(own: &[Self], typ: ExtensionType) -> bool {
        own.iter().any(|extension| extension.typ == typ)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// In one extension or in several, the total is bounded.
    #[test]
    fn the_kept_opaque_extensions_of_a_peer_are_bounded() {
        let types = [ExtensionType(57), ExtensionType(0xff77), ExtensionType(0xff78)];
        let own = types.map(|typ| OpaqueExtension { typ, contents: Vec::new() });
        for (lens, taken) in [
            ([16_384, 0, 0], true),
            ([16_385, 0, 0], false),
            ([8192, 8000, 192], true),
            ([8192, 8000, 193], false),
        ] {
            let sent: Vec<_> = types.into_iter().zip(lens.map(|len| vec![7; len])).collect();
            let sent = sent.iter().map(|(typ, contents)| (*typ, &contents[..]));
            let received = OpaqueExtension::of_peer(&own, sent.clone());
            assert_eq!(received.is_ok(), taken, "{lens:?}");
            // Unregistered ones don't count.
            assert_eq!(OpaqueExtension::of_peer(&own[1..1], sent), Ok(Vec::new()));
        }
    }
}
