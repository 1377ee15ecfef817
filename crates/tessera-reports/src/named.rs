//! Enumerations whose variants have names in reports.

/// Declares an enumeration, with all of its variants and their names, which serde writes and reads.
macro_rules! named {
    ($(#[$of_enum:meta])* $enum:ident.$name:ident {
        $($(#[$of_variant:meta])* $variant:ident = $text:literal,)*
    }) => {
        $(#[$of_enum])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $enum {
            $($(#[$of_variant])* #[serde(rename = $text)] $variant,)*
        }

        impl $enum {
            /// All of them, in this order.
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$variant),*];

            /// Returns what reports write for it.
            #[must_use]
            pub fn $name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

pub(crate) use named;
