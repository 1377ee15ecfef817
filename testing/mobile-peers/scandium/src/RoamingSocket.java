import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;

/** What Scandium takes for one socket: below, it gets another as the interfaces change. */
final class RoamingSocket extends DatagramSocket {
    static final AtomicLong DATAGRAMS_SENT = new AtomicLong(), DATAGRAMS_RECEIVED = new AtomicLong();
    static final AtomicLong BYTES_SENT = new AtomicLong(), BYTES_RECEIVED = new AtomicLong();

    private final Interfaces interfaces;
    /** Called when the address changes. */
    private final Runnable moved;
    private final Map<InetAddress, DatagramSocket> sockets = new HashMap<>();
    private final BlockingQueue<DatagramPacket> received = new LinkedBlockingQueue<>();
    private InetAddress current;
    private volatile boolean isClosed;

    RoamingSocket(Interfaces interfaces, Runnable moved) throws SocketException {
        super((SocketAddress) null);
        this.interfaces = interfaces;
        this.moved = moved;
    }

    /** Never fails: what can't be sent is lost, and the interface may come back. */
    @Override
    public void send(DatagramPacket packet) {
        DatagramSocket socket = route();
        if (socket == null) return;
        try {
            socket.send(packet);
            DATAGRAMS_SENT.incrementAndGet();
            BYTES_SENT.addAndGet(packet.getLength());
        } catch (IOException lost) {
            // As above.
        }
    }

    /** The socket of the address from which a datagram leaves now. */
    private synchronized DatagramSocket route() {
        InetAddress address = interfaces.route();
        if (isClosed) return null;
        if (current != null && !current.equals(address)) moved.run();
        current = address;
        DatagramSocket socket = sockets.get(address);
        if (socket != null) return socket;
        try {
            socket = new DatagramSocket(new InetSocketAddress(address, 0));
        } catch (SocketException absent) {
            return null;
        }
        Report.event("socket", ",\"address\":\"" + address.getHostAddress() + ":" + socket.getLocalPort() + "\"");
        sockets.put(address, socket);
        DatagramSocket bound = socket;
        Thread reader = new Thread(() -> receiveFrom(bound));
        reader.setDaemon(true);
        reader.start();
        return socket;
    }

    private void receiveFrom(DatagramSocket socket) {
        try {
            while (true) {
                DatagramPacket packet = new DatagramPacket(new byte[2048], 2048);
                socket.receive(packet);
                DATAGRAMS_RECEIVED.incrementAndGet();
                BYTES_RECEIVED.addAndGet(packet.getLength());
                received.add(packet);
            }
        } catch (IOException closed) {
            // The end.
        }
    }

    @Override
    public void receive(DatagramPacket packet) throws IOException {
        try {
            DatagramPacket next = received.take();
            int length = Math.min(next.getLength(), packet.getData().length);
            System.arraycopy(next.getData(), 0, packet.getData(), 0, length);
            packet.setLength(length);
            packet.setSocketAddress(next.getSocketAddress());
        } catch (InterruptedException closed) {
            throw new SocketException("closed");
        }
    }

    @Override
    public synchronized void close() {
        isClosed = true;
        for (DatagramSocket socket : sockets.values()) socket.close();
        super.close();
    }

    @Override
    public boolean isClosed() {
        return isClosed;
    }

    @Override
    public boolean isBound() {
        return true;
    }

    @Override
    public InetAddress getLocalAddress() {
        return interfaces.route();
    }

    /** Any but 0, which Scandium takes for unbound. */
    @Override
    public int getLocalPort() {
        return 1;
    }
}
