//! Which names of members and parameters the APIs of roaming have, and what each holds.
//!
//! `members.txt` is made by `scripts/sepp-members` from the OpenAPI files of 3GPP's TS 29.5xx. Names are compared
//! without case, `-` and `_`: `requesterPlmnList` of JSON is `requester-plmn-list` of a query, and some network
//! functions read JSON without case.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use super::fields::{self, Field, Text, Whose};

/// The table as the script makes it.
pub(super) const TABLE: &str = include_str!("members.txt");

/// What a name means.
#[derive(Debug, Clone, Copy)]
pub(super) enum Key {
    Mcc,
    Mnc,
    /// `encBlockIndex`
    Block,
    /// Addresses of a network function.
    Addresses,
    Known(&'static Member),
    /// No API of roaming has it. It may be a URI to call back, by its end: `amfStatusUri`.
    Unknown {
        is_callback: bool,
    },
}

/// A name that an API of roaming has.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) text: Text,
    /// In requests and in responses; none if it has what is around it.
    pub(super) whose: Option<[Whose; 2]>,
    /// The names in its value are data.
    pub(super) is_map: bool,
}

/// By the hash of its folded name, which is believed: a peer could make another name with the hash of a known one, and
/// its receiver would not know it.
type Index = HashMap<u64, Member, BuildHasherDefault<Hashed>>;

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index::default();
    let mut put = |member: Member| match index.entry(Folded::of(member.name).hash) {
        Entry::Vacant(free) => {
            free.insert(member);
        }
        Entry::Occupied(mut taken) => taken.get_mut().merge(member),
    };
    fields::FIELDS.iter().map(Member::from).for_each(&mut put);
    lines("member ").filter_map(Member::read).for_each(put);
    index
});

/// The lines of the table that begin so, without that.
pub(super) fn lines(start: &'static str) -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter_map(move |line| line.strip_prefix(start))
}

impl Member {
    /// `allowedPlmns network`, `dnnConfigurations - map`
    fn read(line: &'static str) -> Option<Self> {
        let mut words = line.split(' ');
        let name = words.next()?;
        let (text, whose) = match words.next()? {
            // Whose network it is, `fields.rs` has: a test holds that it has all.
            "network" => (Text::Plmn, None),
            "amf" => (Text::Plain, Some([Whose::Sought, Whose::Found])),
            "area" => (Text::Plain, Some([Whose::Either, Whose::Anyone])),
            "subscriber" => (Text::Subscriber, None),
            "callback" => (Text::Callback, None),
            "uri" => (Text::Uri, None),
            "reference" => (Text::Reference, None),
            "host" => (Text::Host, Some([Whose::Either, Whose::Anyone])),
            "change" => (Text::Change, None),
            _ => (Text::Plain, None),
        };
        Some(Self { name, text, whose, is_map: words.next() == Some("map") })
    }

    /// Takes up what the same name is in another API. What was put first counts, unless it was nothing.
    fn merge(&mut self, other: Self) {
        self.is_map |= other.is_map;
        if self.text == Text::Plain && self.whose.is_none() {
            (self.text, self.whose) = (other.text, other.whose);
        } else if self.text == Text::Uri && other.text == Text::Callback {
            self.text = other.text;
        }
    }
}

impl From<&Field> for Member {
    fn from(field: &Field) -> Self {
        Self { name: field.name, text: field.text, whose: Some(field.whose), is_map: false }
    }
}

impl Key {
    #[cfg(test)]
    pub(super) fn of(name: &str) -> Self {
        Self::of_folded(name, &Folded::of(name))
    }

    pub(super) fn of_folded(name: &str, folded: &Folded) -> Self {
        match &folded.letters[..folded.len] {
            b"mcc" => return Self::Mcc,
            b"mnc" => return Self::Mnc,
            b"encblockindex" => return Self::Block,
            b"ipv4addresses" | b"ipv6addresses" | b"ipendpoints" => return Self::Addresses,
            _ => {}
        }
        INDEX.get(&folded.hash).map_or_else(|| Self::unknown(name), Self::Known)
    }

    fn unknown(name: &str) -> Self {
        const ENDS: [&str; 6] = ["uri", "url", "callback", "notifuris", "uris", "urls"];
        let name: String = fold_case(name).filter(|letter| !matches!(letter, '-' | '_')).collect();
        Self::Unknown { is_callback: ENDS.iter().any(|end| name.ends_with(end)) }
    }
}

/// A name as it is compared.
pub(super) struct Folded {
    /// The letters, without `-` and `_`, of a name that has at most so many.
    letters: [u8; Self::SHORT],
    /// 0 if there are more.
    len: usize,
    /// Of the letters.
    hash: u64,
    /// Of all of the name, without case alone.
    pub(super) whole: u64,
}

impl Folded {
    /// The longest name that isn't in the table.
    const SHORT: usize = "encblockindex".len();

    pub(super) fn of(name: &str) -> Self {
        let mut folded = Self { letters: [0; Self::SHORT], len: 0, hash: 0, whole: 0 };
        let mut count = 0;
        if name.is_ascii() {
            name.bytes().for_each(|byte| folded.push(byte.to_ascii_lowercase(), &mut count));
        } else {
            fold_case(name).for_each(|letter| {
                let mut buffer = [0; 4];
                let bytes = letter.encode_utf8(&mut buffer).as_bytes();
                bytes.iter().for_each(|byte| folded.push(*byte, &mut count));
            });
        }
        folded.len = if count <= Self::SHORT { count } else { 0 };
        folded.whole ^= folded.hash;
        folded
    }

    fn push(&mut self, byte: u8, count: &mut usize) {
        if matches!(byte, b'-' | b'_') {
            // Where it stands, and which.
            self.whole = mix(mix(self.whole, byte), *count as u8);
            return;
        }
        self.hash = mix(self.hash, byte);
        if let Some(place) = self.letters.get_mut(*count) {
            *place = byte;
        }
        *count += 1;
    }
}

/// Two names with one hash are taken for the same name twice: a peer that makes such names has its own message refused.
fn mix(hash: u64, byte: u8) -> u64 {
    (hash.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// A key that is a hash already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = mix(self.0, *byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Without case, as lenient readers compare: Go's encoding/json folds by Unicode, so that U+017F is an `s` and
/// U+212A a `k`.
fn fold_case(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().map(|letter| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        letter => letter.to_ascii_lowercase(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn known(name: &str) -> &'static Member {
        match Key::of(name) {
            Key::Known(member) => member,
            other => panic!("{name} is {other:?}"),
        }
    }

    #[test]
    fn names_are_found_without_case_and_hyphens() {
        for name in ["requesterPlmnList", "requester-plmn-list", "REQUESTER_PLMN_LIST"] {
            assert_eq!(known(name).name, "requesterPlmnList");
        }
        assert!(matches!(Key::of("MCC"), Key::Mcc) && matches!(Key::of("mn-c"), Key::Mnc));
        assert_eq!(known("\u{17f}ervingNetworkName").name, "servingNetworkName");
        assert_eq!(known("callbac\u{212a}Reference").text, Text::Callback);
        assert!(matches!(Key::of("encBloc\u{212a}Index"), Key::Block));
        for (name, is_callback) in [
            ("m\u{e9}c", false),
            ("requesterPlmnLists", false),
            ("requesterPlmnList\0", false),
            ("x2NotifyUri", true),
            (&*format!("{}Uri", "x".repeat(100)), true),
        ] {
            let Key::Unknown { is_callback: found } = Key::of(name) else { panic!("{name}") };
            assert_eq!(found, is_callback, "{name}");
        }
    }

    #[test]
    fn every_name_of_the_table_is_found_and_its_line_is_read() {
        let kinds = [
            "network",
            "amf",
            "area",
            "subscriber",
            "callback",
            "uri",
            "reference",
            "host",
            "change",
            "-",
        ];
        let mut count = 0;
        let letters = |member: &Member| -> String {
            fold_case(member.name).filter(|letter| !matches!(letter, '-' | '_')).collect()
        };
        let names: HashSet<_> = INDEX.values().map(letters).collect();
        let in_table: HashSet<_> =
            lines("member ").filter_map(Member::read).map(|it| letters(&it)).collect();
        assert!(in_table.is_subset(&names), "two names have one hash");
        for line in lines("member ") {
            let words: Vec<_> = line.split(' ').collect();
            assert!(kinds.contains(&words[1]) && words.len() <= 3, "{line}");
            assert!(!matches!(Key::of(words[0]), Key::Unknown { .. }), "{line}");
            count += 1;
        }
        assert!(count > 3_000, "{count}");
    }

    #[test]
    fn whose_network_it_is_is_known_of_every_network() {
        for line in lines("member ").filter(|line| line.ends_with(" network")) {
            let name = line.split(' ').next().unwrap();
            assert!(known(name).whose.is_some(), "{name} is in no line of fields.rs");
        }
    }
}
