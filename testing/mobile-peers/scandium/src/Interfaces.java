import java.net.InetAddress;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The client's interfaces, as standard input describes them. */
final class Interfaces {
    private static final Pattern INDEX = Pattern.compile("\"interface\"\\s*:\\s*(\\d+)");
    private static final Pattern STATE = Pattern.compile("\"state\"\\s*:\\s*\"(up|down)\"");
    private static final Pattern ADDRESS = Pattern.compile("\"address\"\\s*:\\s*\"([0-9.]+)\"");

    private final InetAddress[] addresses;
    private final boolean[] areUp;

    Interfaces(List<InetAddress> sources) {
        addresses = sources.toArray(new InetAddress[0]);
        areUp = new boolean[addresses.length];
        java.util.Arrays.fill(areUp, true);
    }

    /** The address from which a datagram leaves: the first that is up, as by the kernel's routes. */
    synchronized InetAddress route() {
        return addresses[Math.max(first(), 0)];
    }

    /** Takes a line; returns whether what is sent next has a new way. */
    synchronized boolean change(String line) throws Exception {
        Matcher index = INDEX.matcher(line), state = STATE.matcher(line), address = ADDRESS.matcher(line);
        if (!index.find() || !state.find() || Integer.parseInt(index.group(1)) >= addresses.length)
            throw new IllegalArgumentException("standard input: " + line);
        int changed = Integer.parseInt(index.group(1)), before = first();
        areUp[changed] = state.group(1).equals("up");
        if (areUp[changed] && address.find()) addresses[changed] = InetAddress.getByName(address.group(1));
        int after = first();
        return after >= 0 && (after != before || after == changed);
    }

    private int first() {
        for (int i = 0; i < areUp.length; i++) if (areUp[i]) return i;
        return -1;
    }
}
