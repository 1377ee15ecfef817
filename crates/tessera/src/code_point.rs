//! Code points: newtypes, so that unknown values survive and compare.

/// Declares a newtype with named values.
macro_rules! code_points {
    ($(#[$meta:meta])* $name:ident($int:ty) { $($(#[$doc:meta])* $constant:ident = $value:expr,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $int);

        impl $name {
            $($(#[$doc])* pub const $constant: Self = Self($value);)*

            /// Returns whether this version of Tessera has a name for the value.
            pub const fn is_known(self) -> bool {
                matches!(self, $(Self::$constant)|*)
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match *self {
                    $(Self::$constant => f.write_str(stringify!($constant)),)*
                    Self(other) => write!(f, concat!(stringify!($name), "({:#x})"), other),
                }
            }
        }
    };
}

pub(crate) use code_points;
