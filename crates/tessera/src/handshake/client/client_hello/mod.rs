//! Writes an offer as a ClientHello (RFC 8446 §4.1.2).

#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use super::offer::Offer;
use crate::schedule::Transcript;
use crate::wire::{
    ExtensionType, Extensions, Grease, HandshakeType, KeyShareEntry, OpaqueExtension, PskIdentity,
    SmallExtensions, Writer, need_listing, write_certificate_types, write_client_key_shares,
    write_code_points, write_empty, write_extension, write_message, write_offered_psks,
    write_protocols, write_server_name, write_small_extension,
};

/// What may differ between two ClientHellos of one offer, such as the inner and the outer one of
/// Encrypted Client Hello.
pub(super) struct HelloForm<'f> {
    /// client_random.
    pub(super) random: &'f [u8; 32],
    /// server_name, if it is sent.
    pub(super) server_name: Option<&'f str>,
    /// Extensions of the offer to leave out; without pre_shared_key there are no binders.
    pub(super) omitted: &'f [ExtensionType],
    /// Extensions to add.
    pub(super) added: &'f [(ExtensionType, &'f [u8])],
}

impl Offer {
    /// Returns whether the ClientHello has this extension.
    pub(crate) fn has(&self, typ: ExtensionType) -> bool {
        match typ {
            ExtensionType::SUPPORTED_VERSIONS
            | ExtensionType::SUPPORTED_GROUPS
            | ExtensionType::KEY_SHARE => true,
            ExtensionType::PSK_KEY_EXCHANGE_MODES => self.offers_modes,
            ExtensionType::SERVER_NAME => self.sends_server_name,
            ExtensionType::ALPN => !self.config.protocols.is_empty(),
            ExtensionType::FORWARD_SECRET_EARLY_DATA => {
                self.config.one_time_kinds().next().is_some()
            }
            ExtensionType::FORWARD_SECRET_RECEIPTS => !self.ask_receipts.is_empty(),
            ExtensionType::COOKIE => self.cookie.is_some(),
            ExtensionType::CLIENT_CERTIFICATE_TYPE => {
                need_listing(&self.config.own_certificate_types())
            }
            ExtensionType::SERVER_CERTIFICATE_TYPE => {
                need_listing(self.config.server_certificate_types())
            }
            ExtensionType::EARLY_DATA => self.early_data.is_some(),
            ExtensionType::PRE_SHARED_KEY => self.offers_psks,
            _ => {
                let is_grease = |grease: Grease| {
                    grease.empty_extension() == typ || grease.full_extension() == typ
                };
                self.grease.is_some_and(is_grease)
                    || OpaqueExtension::names(&self.extensions, typ)
                    || self.small.has(HandshakeType::CLIENT_HELLO, typ)
                    || self.config.accepted_certificates(&self.codecs).has(typ)
            }
        }
    }

    /// Returns the form of an offer with a single ClientHello.
    pub(super) fn form(&self) -> HelloForm<'_> {
        HelloForm {
            random: &self.random,
            // RFC 6066 §3: without the dot of an absolute name.
            server_name: (self.sends_server_name).then(|| self.server_name.trim_end_matches('.')),
            omitted: &[],
            added: &[],
        }
    }

    /// Writes the ClientHello into `out`, binders included. `before` is the transcript of the first
    /// ClientHello and the HelloRetryRequest, if there were any.
    pub(crate) fn write(&self, out: &mut Vec<u8>, before: Option<&mut Transcript>) {
        self.write_form(&self.form(), out, before);
    }

    /// Writes the ClientHello in one of its forms.
    pub(super) fn write_form(
        &self,
        form: &HelloForm<'_>,
        out: &mut Vec<u8>,
        before: Option<&mut Transcript>,
    ) {
        out.clear();
        let mut binders_len = 0;
        write_message(out, HandshakeType::CLIENT_HELLO, |out| {
            out.u16(self.profile.versions.legacy.0);
            out.bytes(form.random);
            out.vec8(|out| out.bytes(self.legacy_session_id()));
            if self.profile.versions.has_legacy_cookie() {
                out.u8(0);
            }
            out.vec16(|out| {
                let grease = self.grease.map(|grease| grease.cipher_suite().0);
                grease.into_iter().chain(self.suites()).for_each(|suite| out.u16(suite));
            });
            out.bytes(&[1, 0]);
            out.vec16(|out| binders_len = self.write_extensions(form, out));
        });
        if binders_len > 0 {
            self.write_binders(out, binders_len, before);
        } else if let Some(transcript) = before {
            transcript.add(out);
        }
    }

    /// Iterates over the configuration's suites, that of early data first: the server may then choose it. The
    /// order is the same in every ClientHello (RFC 8446 §4.1.2), although early data ends with the first.
    fn suites(&self) -> impl Iterator<Item = u16> {
        let pinned = self.early_suite;
        let known = self.config.suites.iter().filter(|suite| self.config.suite(**suite).is_some());
        let rest = known.filter(move |suite| Some(**suite) != pinned);
        pinned.into_iter().chain(rest.copied()).map(|suite| suite.0)
    }

    /// Returns the length of the binders.
    fn write_extensions(&self, form: &HelloForm<'_>, out: &mut Vec<u8>) -> usize {
        let (config, grease) = (&self.config, self.grease);
        let start = out.len();
        if let Some(grease) = grease {
            grease.write_empty_extension(out);
        }
        if let Some(name) = form.server_name {
            write_server_name(out, name);
        }
        write_extension(out, ExtensionType::SUPPORTED_VERSIONS, |out| {
            let versions = grease.map(Grease::version).into_iter();
            let versions = versions.chain([self.profile.versions.selected]);
            out.vec8(|out| versions.for_each(|version| out.u16(version.0)));
        });
        let groups = config.groups.iter().copied().filter(|group| config.group(*group).is_some());
        let groups = grease.map(Grease::group).into_iter().chain(groups);
        write_code_points(out, ExtensionType::SUPPORTED_GROUPS, groups.map(|group| group.0));
        let accepted = config.accepted_certificates(&self.codecs);
        accepted.write_extensions(HandshakeType::CLIENT_HELLO, grease, out);
        let own_types = config.own_certificate_types();
        write_certificate_types(out, ExtensionType::CLIENT_CERTIFICATE_TYPE, &own_types);
        let server_types = config.server_certificate_types();
        write_certificate_types(out, ExtensionType::SERVER_CERTIFICATE_TYPE, server_types);
        if !config.protocols.is_empty() {
            let grease = grease.map(Grease::protocol);
            let grease = grease.iter().map(|protocol| &protocol[..]);
            write_protocols(out, config.protocols.iter().map(Vec::as_slice).chain(grease));
        }
        write_small_extension(self.small.record_size_limit, out);
        // In the first fragment over datagrams, which shares may be too long for: a server then opens the cookie before it
        // keeps anything.
        if let Some(cookie) = &self.cookie {
            write_extension(out, ExtensionType::COOKIE, |out| out.vec16(|out| out.bytes(cookie)));
        }
        let shares = self.ephemerals.iter().map(|(group, ephemeral)| KeyShareEntry {
            group: *group,
            key_exchange: ephemeral.share(),
        });
        // RFC 8446 §4.2.8: the shares are in the order of their groups.
        let grease_share = grease
            .filter(|_| self.greases_share && !self.ephemerals.is_empty())
            .map(|grease| KeyShareEntry { group: grease.group(), key_exchange: &[0] });
        write_client_key_shares(out, grease_share.into_iter().chain(shares));
        if self.offers_modes {
            self.modes.write(out, grease.map(Grease::psk_mode));
        }
        let others = SmallExtensions { record_size_limit: None, ..self.small };
        others.write(HandshakeType::CLIENT_HELLO, out);
        if self.has(ExtensionType::FORWARD_SECRET_EARLY_DATA) {
            let kinds = config.one_time_kinds().map(|kind| kind.0);
            write_code_points(out, ExtensionType::FORWARD_SECRET_EARLY_DATA, kinds);
        }
        if !self.ask_receipts.is_empty() {
            write_extension(out, ExtensionType::FORWARD_SECRET_RECEIPTS, |out| {
                out.vec16(|out| self.ask_receipts.iter().for_each(|handle| out.bytes(&handle.0)));
            });
        }
        for OpaqueExtension { typ, contents } in &self.extensions {
            write_extension(out, *typ, |out| out.bytes(contents));
        }
        if self.early_data.is_some() {
            write_empty(out, ExtensionType::EARLY_DATA);
        }
        if !form.omitted.is_empty() {
            leave_out(out, start, form.omitted);
        }
        for (typ, contents) in form.added {
            write_extension(out, *typ, |out| out.bytes(contents));
        }
        if let Some(grease) = grease {
            grease.write_full_extension(out);
        }
        if self.psks.is_empty() || form.omitted.contains(&ExtensionType::PRE_SHARED_KEY) {
            return 0;
        }
        write_offered_psks(
            out,
            self.psks.iter().map(|psk| {
                let identity = PskIdentity {
                    identity: &psk.identity,
                    obfuscated_ticket_age: psk.obfuscated_age,
                };
                (identity, psk.suite.hash.len())
            }),
        )
    }

    /// Writes the binders, each over everything before the binders (RFC 8446 §4.2.11.2).
    fn write_binders(&self, out: &mut [u8], binders_len: usize, before: Option<&mut Transcript>) {
        let (covered, binders) = out.split_at_mut(out.len() - binders_len);
        let after_retry = before.map(|transcript| {
            transcript.add(covered);
            (transcript.hash(), transcript)
        });
        let mut at = 2;
        for psk in &self.psks {
            let hash = match &after_retry {
                // All PSKs have the hash of the retry's suite; others were dropped.
                Some((hash, _)) => *hash,
                None => psk.suite.hash.hash(covered),
            };
            let binder = psk.early.binder(psk.kind.binder_label(), &hash);
            let binder = binder.as_ref();
            binders[at + 1..at + 1 + binder.len()].copy_from_slice(binder);
            at += 1 + binder.len();
        }
        if let Some((_, transcript)) = after_retry {
            transcript.add(binders);
        }
    }
}

/// Removes the `omitted` extensions from those written since `start`.
fn leave_out(out: &mut Vec<u8>, start: usize, omitted: &[ExtensionType]) {
    let written = out.split_off(start);
    let kept = Extensions::of(&written).iter().filter(|(typ, _)| !omitted.contains(typ));
    kept.for_each(|(typ, contents)| write_extension(out, typ, |out| out.bytes(contents)));
}
