import java.nio.file.Files;
import java.nio.file.Path;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/** Neo4j with its Bolt port on loopback: arguments are the data folder, the port and the password of the user neo4j. Ends cleanly on SIGTERM. */
public class Neo4jServer {
    public static void main(String[] arguments) throws Exception {
        var address = new SocketAddress("127.0.0.1", Integer.parseInt(arguments[1]));
        var server = new DatabaseManagementServiceBuilder(Path.of(arguments[0]))
            .setConfig(BoltConnector.enabled, true)
            .setConfig(BoltConnector.listen_address, address)
            .setConfig(BoltConnector.advertised_address, address)
            .setConfig(GraphDatabaseSettings.auth_enabled, true)
            .build();
        var folder = Path.of(arguments[0]).toAbsolutePath().getParent();
        var password = folder.resolve("password-is-set");
        if (!Files.exists(password)) {
            server.database("system").executeTransactionally(
                "ALTER USER neo4j SET PASSWORD '" + arguments[2] + "' CHANGE NOT REQUIRED");
            Files.createFile(password);
        }
        Files.createFile(folder.resolve("ready"));
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        Thread.currentThread().join();
    }
}
