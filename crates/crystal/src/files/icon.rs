//! The icon of a project's folder: layers of sediment on a page, drawn here pixel by pixel.
//!
//! One picture of 32 by 32 in the uncompressed form that every Windows reads.

const ICON_PIXELS: i32 = 32;
/// The layers from the top down, as blue, green, red.
const LAYER_COLOURS: [[u8; 3]; 6] = [
    [0xd8, 0xe8, 0xf2],
    [0x9c, 0xc4, 0xdc],
    [0x6a, 0x9e, 0xc8],
    [0x48, 0x74, 0xa4],
    [0x36, 0x52, 0x7a],
    [0x28, 0x38, 0x54],
];

/// The bytes of the `.ico` file.
pub(crate) fn icon() -> Vec<u8> {
    let pixels = ICON_PIXELS * ICON_PIXELS * 4;
    let mask = ICON_PIXELS * ICON_PIXELS / 8;
    let picture = 40 + pixels + mask;
    let mut bytes = Vec::with_capacity(22 + usize::try_from(picture).unwrap_or_default());
    bytes.extend([0, 0, 1, 0, 1, 0]);
    bytes.extend([32, 32, 0, 0, 1, 0, 32, 0]);
    bytes.extend(picture.to_le_bytes());
    bytes.extend(22_i32.to_le_bytes());
    bytes.extend(40_i32.to_le_bytes());
    bytes.extend(ICON_PIXELS.to_le_bytes());
    // The height counts the mask, too.
    bytes.extend((2 * ICON_PIXELS).to_le_bytes());
    bytes.extend([1, 0, 32, 0]);
    bytes.extend([0; 4]);
    bytes.extend((pixels + mask).to_le_bytes());
    bytes.extend([0; 16]);
    for y in (0..ICON_PIXELS).rev() {
        for x in 0..ICON_PIXELS {
            bytes.extend(pixel(x, y));
        }
    }
    bytes.resize(bytes.len() + usize::try_from(mask).unwrap_or_default(), 0);
    bytes
}

/// The colour of one pixel: a sheet with a folded corner, in layers that are bent a little.
fn pixel(x: i32, y: i32) -> [u8; 4] {
    let on_sheet = (5..27).contains(&x) && (1..31).contains(&y) && x - y < 20;
    if !on_sheet {
        return [0; 4];
    }
    let bend = (x - 16) * (x - 16) / 32;
    let layer = usize::try_from((y + bend) / 6).unwrap_or_default().min(LAYER_COLOURS.len() - 1);
    let [blue, green, red] = LAYER_COLOURS[layer];
    [blue, green, red, 0xff]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_icon_has_its_declared_length() {
        let bytes = icon();
        let length = u32::from_le_bytes(bytes[14..18].try_into().unwrap());
        let offset = u32::from_le_bytes(bytes[18..22].try_into().unwrap());
        assert_eq!(bytes.len() as u32, length + offset);
        assert_eq!(&bytes[..6], [0, 0, 1, 0, 1, 0]);
        assert!(bytes[62..].chunks(4).any(|pixel| pixel == [0x28, 0x38, 0x54, 0xff]));
    }
}
