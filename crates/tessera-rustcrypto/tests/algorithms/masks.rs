//! Masks of headers, against AWS-LC.

use crate::provider;

/// A sample is ciphertext: a peer chooses it, also with the last block of ChaCha20's stream.
#[test]
fn every_sample_has_the_mask_of_aws_lc() {
    let first = [0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff];
    for suite in provider().suites {
        let key: Vec<u8> = (0..suite.aead.key_len() as u8).collect();
        let theirs = tessera_aws_lc::provider().suite(suite.id).expect("it has all of them");
        let (ours, theirs) = (suite.aead.header_key(&key), theirs.aead.header_key(&key));
        for counter in first {
            for rest in first {
                let mut sample = [rest; 16];
                sample[..4].fill(counter);
                assert_eq!(ours.mask(&sample), theirs.mask(&sample), "{suite:?} {sample:?}");
            }
        }
    }
}
