//! The tests that every provider of cryptography passes: known answers and Wycheproof's, and what must be refused.
//!
//! A provider's tests are [`provider_tests!`] with the function that returns it. A test passes over suites and groups
//! that the provider lacks: what it has is for its own tests to list.
#![allow(missing_docs, reason = "the tests' names state what they test")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail their test")]

pub mod aead;
pub mod agreement;
pub mod hash;

/// Converts hexadecimal digits to bytes; spaces are skipped.
pub fn hex(digits: &str) -> Vec<u8> {
    let nibbles: Vec<u8> = digits
        .chars()
        .filter(|digit| !digit.is_whitespace())
        .map(|digit| digit.to_digit(16).expect("a hexadecimal digit") as u8)
        .collect();
    assert!(nibbles.len().is_multiple_of(2), "half a byte is left over");
    nibbles.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Makes the tests of the provider that this function returns.
#[macro_export]
macro_rules! provider_tests {
    ($provider:path) => {
        $crate::tests! { $provider,
            aead {
                aes_gcm_gives_the_answers_of_its_specification,
                chacha20_poly1305_gives_the_answers_of_rfc_8439,
                every_flipped_bit_of_a_sealed_record_is_noticed,
                header_masks_are_those_of_rfc_9001_and_fips_197,
                every_aead_agrees_with_wycheproof,
            }
            agreement {
                both_ends_of_every_group_agree_on_a_secret,
                every_key_share_is_fresh,
                shares_of_wrong_length_are_refused,
                malformed_points_of_nist_curves_are_refused,
                x25519_points_of_small_order_are_refused,
                the_hybrid_group_checks_both_halves_of_a_share,
                ml_kem_coefficients_of_q_or_more_are_refused,
                ml_kem_answers_a_wrong_ciphertext_with_another_secret,
                encapsulation_keys_that_wycheproof_calls_invalid_are_refused,
            }
            hash {
                sha256_and_sha384_give_the_answers_of_fips_180,
                a_running_hash_goes_on_after_it_is_read,
                hmac_gives_the_answers_of_rfc_4231,
                hkdf_gives_the_answers_of_rfc_5869,
                the_early_secret_without_a_psk_is_that_of_rfc_8448,
                hmac_agrees_with_wycheproof,
                hkdf_agrees_with_wycheproof,
                hkdf_takes_the_longest_pseudorandom_key,
                a_keyed_state_expands_like_its_key,
                the_hash_of_nothing_is_known,
                a_known_salt_of_a_handshake_without_psk_is_the_one_of_the_schedule,
            }
        }
    };
}

/// Makes tests of these functions.
#[doc(hidden)]
#[macro_export]
macro_rules! tests {
    ($provider:path, $($module:ident { $($test:ident,)+ })+) => {
        $(mod $module {
            $(#[test]
            fn $test() {
                $crate::$module::$test(&$provider());
            })+
        })+
    };
}
