//! The names of members and parameters in the APIs of roaming, and what each holds.
//!
//! `scripts/sepp-members` generates `members.txt` from the OpenAPI files of 3GPP's TS 29.5xx. Names are compared
//! without case, `-` and `_`: `requesterPlmnList` in JSON is `requester-plmn-list` in a query, and some network
//! functions ignore case in JSON.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use super::fields::{self, Field, NamedParty, Text};

/// The table as the script generates it.
pub(super) const TABLE: &str = include_str!("members.txt");

/// What a name means.
#[derive(Debug, Clone, Copy)]
pub(super) enum Key {
    Mcc,
    Mnc,
    /// Several network codes of one country (TS 29.522, `NetworkDescription`).
    Mncs,
    /// `encBlockIndex`
    Block,
    /// Addresses of a network function.
    Addresses,
    Known(&'static Member),
    /// No API of roaming has it. By its suffix it may be a callback URI: `amfStatusUri`.
    Unknown {
        is_callback: bool,
    },
}

/// A name that an API of roaming has.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) text: Text,
    /// In requests and in responses; `None` if it inherits from the enclosing member.
    pub(super) whose: Option<[NamedParty; 2]>,
    /// The number of levels of its value at which names are data.
    pub(super) maps: u8,
}

/// Known names by the hash of the folded name. Hashes are not verified: a peer could construct another name with the
/// hash of a known one, but its receiver would not know that name.
static INDEX: LazyLock<HashMap<u64, MemberEntry, BuildHasherDefault<TextHasher>>> =
    LazyLock::new(|| {
        let mut index = HashMap::default();
        for (name, known) in SPECIAL {
            index.insert(hashes(name).0, known);
        }
        let mut put = |member: Member| match index.entry(hashes(member.name).0) {
            Entry::Vacant(free) => {
                free.insert(MemberEntry::Member(member));
            }
            Entry::Occupied(mut taken) => {
                if let MemberEntry::Member(earlier) = taken.get_mut() {
                    earlier.merge(member);
                }
            }
        };
        fields::FIELDS.iter().map(Member::from).for_each(&mut put);
        lines("member ").filter_map(Member::read).for_each(put);
        index
    });

const SPECIAL: [(&str, MemberEntry); 14] = [
    ("mcc", MemberEntry::Mcc),
    ("mnc", MemberEntry::Mnc),
    ("mncs", MemberEntry::Mncs),
    ("encBlockIndex", MemberEntry::Block),
    ("ipv4Addresses", MemberEntry::Addresses),
    ("ipv6Addresses", MemberEntry::Addresses),
    ("ipEndPoints", MemberEntry::Addresses),
    ("scpIpEndPoints", MemberEntry::Addresses),
    ("gmIpv4Addresses", MemberEntry::Addresses),
    ("gmIpv6Addresses", MemberEntry::Addresses),
    ("mwIpv4Addresses", MemberEntry::Addresses),
    ("mwIpv6Addresses", MemberEntry::Addresses),
    ("altNotifIpv4Addrs", MemberEntry::Addresses),
    ("altNotifIpv6Addrs", MemberEntry::Addresses),
];

/// What the index has.
enum MemberEntry {
    Mcc,
    Mnc,
    Mncs,
    Block,
    Addresses,
    Member(Member),
}

/// Returns the table's lines with this prefix, without it.
pub(super) fn lines(start: &'static str) -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter_map(move |line| line.strip_prefix(start))
}

impl Member {
    /// Reads a line of the table: `allowedPlmns network`, `dnnConfigurations - map`.
    fn read(line: &'static str) -> Option<Self> {
        let mut words = line.split(' ');
        let name = words.next()?;
        let (text, whose) = match words.next()? {
            // `fields.rs` has whose network it is; a test checks that it has every name.
            "network" => (Text::Plmn, None),
            "coded" => (Text::Coded, Some([NamedParty::Either, NamedParty::Anyone])),
            "maybe-coded" => (Text::MaybeCoded, None),
            "amf" => (Text::Plain, Some([NamedParty::Sought, NamedParty::Found])),
            "area" => (Text::Plain, Some([NamedParty::Either, NamedParty::Anyone])),
            "subscriber" => (Text::Subscriber, None),
            "imsi" => (Text::Imsi, None),
            "callback" => (Text::Callback, None),
            "uri" => (Text::Uri, None),
            "uri-or-host" => (Text::UriOrHost, Some([NamedParty::Either, NamedParty::Found])),
            "reference" => (Text::Reference, None),
            "host" => (Text::Host, Some([NamedParty::Either, NamedParty::Found])),
            "change" => (Text::Change, None),
            "path" => (Text::Path, None),
            "segment" => (Text::Segment, None),
            "binding" => (Text::Binding, None),
            _ => (Text::Plain, None),
        };
        let maps = words.filter(|word| *word == "map").count() as u8;
        Some(Self { name, text, whose, maps })
    }

    /// Merges the same name of another API. The first entry wins, unless it was empty.
    fn merge(&mut self, other: Self) {
        self.maps = self.maps.max(other.maps);
        if self.text == Text::Plain && self.whose.is_none() {
            (self.text, self.whose) = (other.text, other.whose);
        } else if self.text == Text::Uri && other.text == Text::Callback {
            self.text = other.text;
        }
    }
}

impl From<&Field> for Member {
    fn from(field: &Field) -> Self {
        Self { name: field.name, text: field.text, whose: Some(field.whose), maps: 0 }
    }
}

impl Key {
    #[cfg(test)]
    pub(super) fn of(name: &str) -> Self {
        Self::of_folded(name, &FoldedName::of(name))
    }

    pub(super) fn of_folded(name: &str, folded: &FoldedName) -> Self {
        match folded.known {
            Some(MemberEntry::Member(member)) => Self::Known(member),
            Some(MemberEntry::Mcc) => Self::Mcc,
            Some(MemberEntry::Mnc) => Self::Mnc,
            Some(MemberEntry::Mncs) => Self::Mncs,
            Some(MemberEntry::Block) => Self::Block,
            Some(MemberEntry::Addresses) => Self::Addresses,
            None => Self::unknown(name),
        }
    }

    fn unknown(name: &str) -> Self {
        const ENDS: [&str; 6] = ["uri", "url", "callback", "notifuris", "uris", "urls"];
        let name: String = letters(name).collect();
        Self::Unknown { is_callback: ENDS.iter().any(|end| name.ends_with(end)) }
    }
}

/// A name in the form in which it is compared.
#[derive(Clone, Copy)]
pub(super) struct FoldedName {
    known: Option<&'static MemberEntry>,
    /// The hash of the whole name, folded only by case.
    pub(super) whole: u64,
    /// `"name":`, if the OpenAPI files spell it so.
    pub(super) quoted: Option<&'static str>,
}

/// The names of the index as the OpenAPI files spell them: nearly all messages do too.
static SPELLED: LazyLock<HashMap<&'static str, FoldedName, BuildHasherDefault<TextHasher>>> =
    LazyLock::new(|| {
        let of_table = lines("member ").filter_map(|line| line.split(' ').next());
        let special = SPECIAL.iter().map(|(name, _)| *name);
        let spelled = |name| {
            let quoted: &str = Box::leak(format!("\"{name}\":").into_boxed_str());
            (name, FoldedName { quoted: Some(quoted), ..FoldedName::hashed(name) })
        };
        special.chain(of_table).map(spelled).collect()
    });

impl FoldedName {
    pub(super) fn of(name: &str) -> Self {
        SPELLED.get(name).copied().unwrap_or_else(|| Self::hashed(name))
    }

    fn hashed(name: &str) -> Self {
        let (hash, whole) = hashes(name);
        Self { known: INDEX.get(&hash), whole, quoted: None }
    }
}

/// Returns the hash of a name without case, `-` and `_`, and that of the whole name without case.
fn hashes(name: &str) -> (u64, u64) {
    let (mut hash, mut between) = (0, 0);
    let mut push = |byte: u8| {
        if matches!(byte, b'-' | b'_') {
            // Which separator it is, and where.
            between = mix(mix(between, u64::from(byte)), hash & 0xff);
        } else {
            hash = mix(hash, u64::from(byte));
        }
    };
    if name.is_ascii() {
        name.bytes().for_each(|byte| push(byte.to_ascii_lowercase()));
    } else {
        fold_case(name).for_each(|letter| {
            letter.encode_utf8(&mut [0; 4]).bytes().for_each(&mut push);
        });
    }
    (hash, hash ^ between)
}

/// Mixes a word into a hash. Two names with the same hash count as a duplicate: a peer that constructs such names only
/// gets its own message refused.
fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// Hashes text eight bytes at a time, then its last eight bytes again, and passes an existing hash through.
#[derive(Default)]
struct TextHasher(u64);

impl Hasher for TextHasher {
    /// The low bits, which hash tables use, come from high ones, which depend on every letter.
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        words.iter().for_each(|word| self.0 = mix(self.0, u64::from_le_bytes(*word)));
        match bytes.last_chunk() {
            Some(last) => self.0 = mix(self.0, u64::from_le_bytes(*last)),
            None => rest.iter().for_each(|byte| self.0 = mix(self.0, u64::from(*byte))),
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.0 = mix(self.0, u64::from(byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Returns whether two names are the same but for case, `-` and `_`.
pub(super) fn have_same_letters(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}

fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    fold_case(name).filter(|letter| !matches!(letter, '-' | '_'))
}

/// Folds case as lenient readers do: Go's encoding/json uses Unicode folding, so U+017F is an `s` and U+212A a `k`.
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
            "coded",
            "maybe-coded",
            "amf",
            "area",
            "subscriber",
            "imsi",
            "uri-or-host",
            "callback",
            "uri",
            "reference",
            "host",
            "change",
            "path",
            "segment",
            "binding",
            "-",
        ];
        let mut count = 0;
        let letters = |name| letters(name).collect::<String>();
        let of_fields = fields::FIELDS.iter().map(|field| field.name);
        let of_table = lines("member ").filter_map(|line| line.split(' ').next());
        let special = SPECIAL.iter().map(|(name, _)| *name);
        let names: HashSet<_> = of_fields.chain(of_table).chain(special).map(letters).collect();
        assert_eq!(names.len(), INDEX.len(), "two names have one hash");
        for line in lines("member ") {
            let words: Vec<_> = line.split(' ').collect();
            assert!(kinds.contains(&words[1]) && words.len() <= 4, "{line}");
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

    #[test]
    fn a_name_of_several_apis_keeps_what_is_judged_more_strictly() {
        let after = |lines: &[&'static str]| {
            let mut members = lines.iter().map(|line| Member::read(line).unwrap());
            let mut member = members.next().unwrap();
            members.for_each(|other| member.merge(other));
            (member.text, member.whose.is_some(), member.maps)
        };
        assert_eq!(after(&["x -", "x uri"]), (Text::Uri, false, 0));
        assert_eq!(after(&["x uri", "x -"]), (Text::Uri, false, 0));
        assert_eq!(after(&["x uri", "x callback"]), (Text::Callback, false, 0));
        assert_eq!(after(&["x uri", "x subscriber"]), (Text::Uri, false, 0));
        assert_eq!(after(&["x subscriber", "x callback"]), (Text::Subscriber, false, 0));
        // Of an area: the network it names counts, though it may be any text.
        assert_eq!(after(&["x area", "x subscriber"]), (Text::Plain, true, 0));
        assert_eq!(after(&["x - map", "x uri map map", "x -"]), (Text::Uri, false, 2));
    }
}
