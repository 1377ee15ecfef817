//! Keccak-f\[1600\] (FIPS 202 §3.3): the crate `keccak`'s, and for processors of 32 bits our own, which takes less
//! than half of its instructions there.

#[cfg(any(target_pointer_width = "32", test))]
mod interleaved;
#[cfg(any(not(target_pointer_width = "32"), test))]
mod lanes;

#[cfg(target_pointer_width = "32")]
pub(crate) use interleaved::State;
#[cfg(not(target_pointer_width = "32"))]
pub(crate) use lanes::State;
