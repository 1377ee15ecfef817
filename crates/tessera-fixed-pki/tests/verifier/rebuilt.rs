//! Chains whose elements are removed, repeated, exchanged and renamed, with lengths that fit: what this verifier accepts,
//! webpki accepts, too.

use tessera_harness::Numbers;

use crate::mutated::{judge_changed, questions};

/// An element of DER.
#[derive(Debug, Clone)]
enum Element {
    Of { tag: u8, elements: Vec<Element> },
    Bytes { tag: u8, bytes: Vec<u8> },
}

/// Reads all elements; `None` if it is no DER with lengths of up to two bytes.
fn read(mut der: &[u8]) -> Option<Vec<Element>> {
    let mut elements = Vec::new();
    while let [tag, first, rest @ ..] = der {
        let (len, rest) = match (*first, rest) {
            (len @ ..=0x7f, rest) => (usize::from(len), rest),
            (0x81, [len, rest @ ..]) => (usize::from(*len), rest),
            (0x82, [high, low, rest @ ..]) => {
                (usize::from(u16::from_be_bytes([*high, *low])), rest)
            }
            _ => return None,
        };
        let (contents, rest) = rest.split_at_checked(len)?;
        // Extensions are DER inside an OCTET STRING.
        let is_constructed = tag & 0x20 != 0 || *tag == 4;
        elements.push(match read(contents).filter(|_| is_constructed) {
            Some(elements) => Element::Of { tag: *tag, elements },
            None => Element::Bytes { tag: *tag, bytes: contents.to_vec() },
        });
        der = rest;
    }
    der.is_empty().then_some(elements)
}

fn write(elements: &[Element], out: &mut Vec<u8>) {
    for element in elements {
        let (tag, contents) = match element {
            Element::Bytes { tag, bytes } => (*tag, bytes.clone()),
            Element::Of { tag, elements } => {
                let mut contents = Vec::new();
                write(elements, &mut contents);
                (*tag, contents)
            }
        };
        out.push(tag);
        match contents.len() {
            len @ ..=0x7f => out.push(len as u8),
            len @ ..=0xff => out.extend([0x81, len as u8]),
            len => out.extend([0x82, (len >> 8) as u8, len as u8]),
        }
        out.extend(contents);
    }
}

/// How many elements there are.
fn count(elements: &[Element]) -> usize {
    elements
        .iter()
        .map(|it| match it {
            Element::Of { elements, .. } => 1 + count(elements),
            Element::Bytes { .. } => 1,
        })
        .sum()
}

/// Returns a copy of the element with this number, the first being 0.
fn get(elements: &[Element], number: &mut usize) -> Option<Element> {
    for element in elements {
        if *number == 0 {
            return Some(element.clone());
        }
        *number -= 1;
        if let Element::Of { elements, .. } = element
            && let Some(found) = get(elements, number)
        {
            return Some(found);
        }
    }
    None
}

/// Calls `change` with the list and the place of the element with this number.
fn at(
    elements: &mut Vec<Element>,
    number: &mut usize,
    change: &mut dyn FnMut(&mut Vec<Element>, usize),
) -> bool {
    for place in 0..elements.len() {
        if *number == 0 {
            change(elements, place);
            return true;
        }
        *number -= 1;
        if let Element::Of { elements, .. } = &mut elements[place]
            && at(elements, number, change)
        {
            return true;
        }
    }
    false
}

const TAGS: [u8; 24] = [
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0c, 0x13, 0x16, 0x17, 0x18, 0x30, 0x31, 0x80, 0x81, 0x82,
    0x86, 0x87, 0xa0, 0xa1, 0xa2, 0xa3, 0x0a, 0x24,
];

fn change(numbers: &mut Numbers, der: &mut Vec<u8>, other: &[u8]) {
    let (Some(mut tree), Some(others)) = (read(der), read(other)) else { return };
    let (len, other_len) = (count(&tree), count(&others));
    if len == 0 || other_len == 0 {
        return;
    }
    let (mut chosen, mut from) = (numbers.below(len), numbers.below(other_len));
    let replacement = get(&others, &mut from);
    at(&mut tree, &mut chosen, &mut |list, place| match numbers.below(9) {
        0 => drop(list.remove(place)),
        1 => list.insert(place, list[place].clone()),
        2 => {
            let other = numbers.below(list.len());
            list.swap(place, other);
        }
        3 => match &mut list[place] {
            Element::Of { tag, .. } | Element::Bytes { tag, .. } => *tag = *numbers.pick(&TAGS),
        },
        4 => list[place] = replacement.clone().unwrap_or_else(|| list[place].clone()),
        5 => list.insert(place, replacement.clone().unwrap_or_else(|| list[place].clone())),
        _ => match &mut list[place] {
            Element::Of { elements, .. } => {
                if numbers.happens(50) {
                    elements.reverse();
                } else {
                    elements.truncate(numbers.below(elements.len() + 1));
                }
            }
            Element::Bytes { bytes, .. } => match numbers.below(5) {
                0 => bytes.clear(),
                1 => bytes.push(*numbers.pick(&[0, 1, 0x7f, 0x80, 0xff, b'*', b'.', b'a'])),
                2 => bytes.insert(0, *numbers.pick(&[0, 1, 0x7f, 0x80, 0xff, b'*', b'.', b'a'])),
                _ if bytes.is_empty() => (),
                3 => bytes.truncate(numbers.below(bytes.len())),
                _ => {
                    let at = numbers.below(bytes.len());
                    bytes[at] =
                        *numbers.pick(&[0, 1, 2, 0x7f, 0x80, 0xff, b'*', b'.', b'a', b'Z', b'0']);
                }
            },
        },
    });
    der.clear();
    write(&tree, der);
}

#[test]
fn a_chain_that_is_rebuilt_is_the_same() {
    for (_, question) in questions() {
        for der in &question.chain {
            let mut again = Vec::new();
            write(&read(der).unwrap(), &mut again);
            assert_eq!(again, *der);
        }
    }
}

#[test]
fn fuzz_what_is_accepted_of_rebuilt_chains_is_accepted_by_webpki() {
    let verdicts = judge_changed(|numbers, question| {
        let (at, other) = (numbers.below(2), numbers.below(2));
        let other = question.chain[other].clone();
        change(numbers, &mut question.chain[at], &other);
    });
    println!(
        "{} accepted by both, {} refused by both, {:?} by this alone",
        verdicts.accepted, verdicts.refused, verdicts.alone
    );
    assert!(verdicts.accepted > 100, "{}", verdicts.accepted);
}
