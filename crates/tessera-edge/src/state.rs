//! A client's state at the services, on its way from one proxy to another: opaque, versioned, sealed.
//!
//! A service with state has a path at its instances, for each client: GET exports (200 with a version and at most 64 KiB, or
//! 204 or 404: none), PUT imports, DELETE forgets. The version is a number that grows with every change.

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes};
use tessera_bindings::{ClientName, Generation};
use tessera_vault::WrappingKeys;
use zeroize::Zeroizing;

/// A client's state at all services that have some.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClientState(pub(crate) Vec<ServiceState>);

/// A client's state at one service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceState {
    pub(crate) service: String,
    pub(crate) version: u64,
    pub(crate) data: Bytes,
}

/// Why sealed state isn't used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateRefused {
    /// It isn't of this pool, this client and this move, or was changed.
    Sealed,
    /// Its format is of another version, or malformed.
    Format,
}

impl ClientState {
    /// The longest state of a client at all services together, in bytes.
    pub(crate) const LONGEST: usize = 64 * 1024;

    /// The longest sealed state: names, versions and the seal besides.
    pub(crate) const LONGEST_SEALED: usize = Self::LONGEST + 8 * 1024;

    /// Returns the version of the whole: it grows whenever one of them does.
    pub(crate) fn version(&self) -> u64 {
        self.0.iter().fold(0, |sum, state| sum.saturating_add(state.version))
    }

    /// Whether it isn't too long to move.
    pub(crate) fn fits(&self) -> bool {
        self.0.iter().map(|state| state.data.len()).sum::<usize>() <= Self::LONGEST
            && self.0.iter().all(|state| state.service.len() <= usize::from(u16::MAX))
    }

    /// Seals it for a move; `None` without randomness.
    pub(crate) fn seal(
        &self,
        keys: &WrappingKeys,
        client: &ClientName,
        generation: Generation,
        now: Duration,
    ) -> Option<Vec<u8>> {
        let mut plain = Zeroizing::new(vec![FORMAT]);
        for ServiceState { service, version, data } in &self.0 {
            plain.put_u16(u16::try_from(service.len()).ok()?);
            plain.put_slice(service.as_bytes());
            plain.put_u64(*version);
            plain.put_u32(u32::try_from(data.len()).ok()?);
            plain.put_slice(data);
        }
        keys.wrap(&context(client, generation), &plain, now)
    }

    /// Opens what another proxy sealed for this move.
    pub(crate) fn open(
        sealed: &[u8],
        keys: &WrappingKeys,
        client: &ClientName,
        generation: Generation,
        now: Duration,
    ) -> Result<Self, StateRefused> {
        let plain = keys.unwrap(&context(client, generation), sealed, now);
        let plain = plain.ok_or(StateRefused::Sealed)?;
        let state = Self::decode(&plain).ok_or(StateRefused::Format)?;
        if state.fits() { Ok(state) } else { Err(StateRefused::Format) }
    }

    fn decode(mut plain: &[u8]) -> Option<Self> {
        if plain.try_get_u8().ok()? != FORMAT {
            return None;
        }
        let mut states = Vec::new();
        while plain.has_remaining() {
            let service = take(&mut plain, |plain| Some(plain.try_get_u16().ok()?.into()))?;
            let service = String::from_utf8(service.to_vec()).ok()?;
            let version = plain.try_get_u64().ok()?;
            let data = take(&mut plain, |plain| usize::try_from(plain.try_get_u32().ok()?).ok())?;
            states.push(ServiceState { service, version, data: Bytes::copy_from_slice(data) });
        }
        Some(Self(states))
    }
}

/// The version of the format.
const FORMAT: u8 = 1;

/// Takes bytes whose length comes first.
fn take<'p>(
    plain: &mut &'p [u8],
    len: impl FnOnce(&mut &'p [u8]) -> Option<usize>,
) -> Option<&'p [u8]> {
    let len = len(plain)?;
    let (taken, rest) = plain.split_at_checked(len)?;
    *plain = rest;
    Some(taken)
}

/// State of another client or another move doesn't open.
fn context(client: &ClientName, generation: Generation) -> Vec<u8> {
    [&generation.0.to_be_bytes(), client.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use tessera_vault::{EpochKey, WrappingPurpose};

    use super::*;

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    fn keys() -> WrappingKeys {
        let keys = WrappingKeys::new(&tessera_aws_lc::provider(), WrappingPurpose::ClientState);
        keys.add(EpochKey::forever([1; 16], Zeroizing::new([7; 32])), NOW).unwrap();
        keys
    }

    fn state(len: usize) -> ClientState {
        let of = |service: &str, version, len| ServiceState {
            service: service.into(),
            version,
            data: vec![version as u8; len].into(),
        };
        ClientState(vec![of("cart", 3, len), of("route", 4, 0)])
    }

    #[test]
    fn state_opens_for_its_client_and_its_move_alone() {
        let (keys, drone) = (keys(), ClientName::new("drone").unwrap());
        let sealed = state(500).seal(&keys, &drone, Generation(7), NOW).unwrap();
        let open = |sealed: &[u8], client: &str, generation| {
            let client = ClientName::new(client).unwrap();
            ClientState::open(sealed, &keys, &client, Generation(generation), NOW)
        };
        assert_eq!(open(&sealed, "drone", 7).unwrap(), state(500));
        assert_eq!(state(500).version(), 7);
        assert_eq!(open(&sealed, "other", 7), Err(StateRefused::Sealed));
        assert_eq!(open(&sealed, "drone", 8), Err(StateRefused::Sealed), "replayed");
        for len in 0..sealed.len() {
            assert_eq!(open(&sealed[..len], "drone", 7), Err(StateRefused::Sealed), "{len}");
        }
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(open(&changed, "drone", 7), Err(StateRefused::Sealed), "{at}");
        }
    }

    #[test]
    fn malformed_and_longer_state_is_refused() {
        let (keys, drone) = (keys(), ClientName::new("drone").unwrap());
        let open = |plain: &[u8]| {
            let sealed = keys.wrap(&context(&drone, Generation(1)), plain, NOW).unwrap();
            ClientState::open(&sealed, &keys, &drone, Generation(1), NOW)
        };
        assert_eq!(open(&[FORMAT]).unwrap(), ClientState::default());
        let whole = [FORMAT, 0, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 2, 1, 2];
        assert_eq!(open(&whole).unwrap().version(), 9);
        for len in (0..whole.len()).filter(|len| *len != 1) {
            assert_eq!(open(&whole[..len]), Err(StateRefused::Format), "{len}");
        }
        assert_eq!(open(&[FORMAT + 1]), Err(StateRefused::Format));
        assert_eq!(open(&[FORMAT, 0xff, 0xff]), Err(StateRefused::Format));
        let (fits, long) = (state(ClientState::LONGEST), state(ClientState::LONGEST + 1));
        let sealed = |state: &ClientState| state.seal(&keys, &drone, Generation(1), NOW).unwrap();
        assert!(sealed(&fits).len() <= ClientState::LONGEST_SEALED);
        let open = |state| ClientState::open(&sealed(state), &keys, &drone, Generation(1), NOW);
        assert!(fits.fits() && open(&fits).is_ok());
        assert!(!long.fits());
        assert_eq!(open(&long), Err(StateRefused::Format));
    }
}
